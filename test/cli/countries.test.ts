/** Rules by country on the whole platform: files of the operator, the database that Postern contains, and problems. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { country, mmdbOf } from "../support/mmdb.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";
import { startHttpService } from "../support/services.ts";

const oldMs = Date.UTC(2020, 0, 1);

async function statusOf(platform: TestPlatform, url: string): Promise<number> {
  return (await platform.request(url)).status;
}

for (const database of databases) {
  describe(`rules by country on ${database.name}`, () => {
    it(`R7: rules by country on ${database.name} follow the operator's file, also after a reload and a restart`, async (test) => {
      const folder = mkdtempSync(join(tmpdir(), "postern-countries-"));
      const path = join(folder, "countries.mmdb");
      const list = join(folder, "office.txt");
      writeFileSync(path, mmdbOf({ "127.0.0.0/8": country("DE") }, { builtAt: oldMs }));
      writeFileSync(list, "127.0.0.1\n");
      const stored = await database.create();
      const ipCategory = [{ name: "office", place: list, isUrl: false }];
      const platform = await startPlatform({ database: stored.url, geoDatabase: [path], ipCategory, edges: 2 }, 1);
      const service = await startHttpService((_request, response) => response.end("served"));
      test.after(async () => {
        await platform.stop();
        await service.stop();
        await stored.drop();
        rmSync(folder, { recursive: true, force: true });
      });
      const agent = await platform.startAgent({
        upstream: service.port,
        tunnel: { options: { CountryRestriction: { allow: ["DE"] } } },
      });
      assert.equal(await statusOf(platform, agent.url), 200);
      const { body } = await platform.api("GET", "/problems");
      const found = (body.problems as { readonly module: string; readonly message: string }[]).map(
        ({ message }) => message,
      );
      assert.match(found.join(), /countries\.mmdb" is from 2020-01-01/);

      writeFileSync(path, "damaged");
      platform.reload();
      const problems = async (): Promise<string> => JSON.stringify((await platform.api("GET", "/problems")).body);
      await eventually(problems, (text) => text.includes("its earlier content stays"));
      assert.equal(await statusOf(platform, agent.url), 200);

      writeFileSync(path, mmdbOf({ "127.0.0.0/8": country("FR") }));
      platform.reload();
      const denied = await eventually(
        () => platform.request(agent.url),
        ({ status }) => status === 403,
      );
      assert.equal(denied.headers["postern-error-code"], errorCode("country_denied"));
      await eventually(problems, (text) => !text.includes("countries.mmdb"));
      const { body: requests } = await platform.api("GET", "/requests?outcome=denied");
      assert.equal(requests.requests[0].source_country, "FR");
      await platform.restart();
      await eventually(
        () => platform.request(agent.url).catch(() => undefined),
        (answer) => answer?.status === 403,
      );
    });
  });
}

it("warnings about a traffic policy follow the data of the server's files: a field that no record has is empty", async (test) => {
  const folder = mkdtempSync(join(tmpdir(), "postern-places-"));
  const path = join(folder, "places.mmdb");
  writeFileSync(path, mmdbOf({ "127.0.0.0/8": { country: { iso_code: "DE" }, city: { names: { en: "Cologne" } } } }));
  const platform = await startPlatform({ geoDatabase: [path] }, 1);
  test.after(async () => {
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const expressions: readonly (readonly [expression: string, holds: RegExp | undefined])[] = [
    ["conn.geo.city == 'Cologne'", undefined],
    ["conn.client_ip.geo.location.city == 'Cologne'", undefined],
    ["conn.client_ip.as.number == 64500", /empty unless the server has the setting geo-database with data for it/],
    ["conn.client_ip.is_tor_node", /ip-category/],
  ];
  for (const [expression, holds] of expressions) {
    const policy = JSON.stringify({ on_http_request: [{ expressions: [expression], actions: [{ type: "deny" }] }] });
    const { body } = await platform.api("POST", "/policies/check", { policy });
    const { headers, body: made } = await platform.api("POST", "/endpoints", {
      url: "https://places.internal",
      type: "cloud",
      traffic_policy: JSON.stringify({
        on_http_request: [
          { expressions: [expression], actions: [{ type: "deny" }] },
          { actions: [{ type: "custom-response" }] },
        ],
      }),
    });
    await platform.api("DELETE", `/endpoints/${made.id}`);
    for (const warning of [JSON.stringify(body.warnings), String(headers["postern-warning"] ?? "[]")]) {
      if (holds) assert.match(warning, holds);
      else assert.equal(warning, "[]");
    }
  }
});

it("rules by country work without a setting: the first one loads the database that Postern contains", async (test) => {
  const platform = await startPlatform({ trustedForwarders: ["127.0.0.1/32"] }, 1);
  const service = await startHttpService((_request, response) => response.end("served"));
  test.after(async () => {
    await platform.stop();
    await service.stop();
  });
  const agent = await platform.startAgent({
    upstream: service.port,
    tunnel: { options: { CountryRestriction: { allow: ["US"] } } },
  });
  const from = async (address: string): Promise<number> =>
    (await platform.request(agent.url, { headers: { "x-forwarded-for": address } })).status;
  await eventually(
    () => from("8.8.8.8"),
    (status) => status === 200,
  );
  assert.equal(await from("193.99.144.80"), 403);
  assert.equal(await from("192.168.1.1"), 403);
  assert.equal(await from("2001:4860:4860::8888"), 200);
});
