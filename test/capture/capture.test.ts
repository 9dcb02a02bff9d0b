import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const policy = `on_http_request:
  - expressions: ["req.url.path == '/denied'"]
    actions: [{ type: deny, config: { status_code: 403 } }]
  - actions: [{ type: custom-response, config: { status_code: 200, body: hello } }]
`;

for (const database of databases) {
  describe(`capture on ${database.name}`, () => {
    let platform: TestPlatform;
    let stored: Awaited<ReturnType<typeof database.create>>;
    let endpointId = "";

    before(async () => {
      stored = await database.create();
      platform = await startPlatform({ database: stored.url });
      const url = "https://app.capture.test";
      const capture = { redact_headers: ["x-key"], redact_query: ["token"] };
      const made = await platform.api("POST", "/endpoints", { url, type: "cloud", traffic_policy: policy, capture });
      assert.equal(made.status, 201, made.text);
      endpointId = made.body.id;
    });
    after(async () => {
      await platform.stop();
      await stored.drop();
    });

    const requests = async (query: string) => {
      const { status, body, text } = await platform.api("GET", `/requests?${query}`);
      assert.equal(status, 200, text);
      return body.requests as readonly { id: string; path: string; captured: boolean; status_code: number }[];
    };

    for (const http of ["h1", "h2"] as const) {
      it(`returns requests over ${http} by time, path, status and module, and finds each by its id`, async () => {
        const headers = { authorization: "Bearer canary-authorization", "x-key": "canary-key" };
        for (const path of [`/a${http}`, "/denied", `/a${http}?token=canary-query`]) {
          await platform.request(`https://app.capture.test${path}`, { http, headers });
        }
        const found = await eventually(
          () => requests(`path=/a${http}&since=1h`),
          (list) => list.filter(({ captured }) => captured).length === 2,
        );
        assert.deepEqual(
          found.map(({ status_code }) => status_code),
          [200, 200],
        );
        const denied = await requests("status=403&module=traffic_policy&source_ip=127.0.0.1");
        assert.ok(denied.length > 0 && denied.every(({ path, captured }) => path === "/denied" && captured));
        const one = await platform.api("GET", `/requests/${found[0]?.id}`);
        assert.equal(one.body.captured, true);
        assert.deepEqual(await requests(`path=/a${http}&until=1h`), []);
        assert.deepEqual(await requests("user=ann@example.com"), []);
      });
    }

    it("K4: returns no secret, and has none on the disk", async () => {
      const { text } = await platform.api("GET", "/requests");
      assert.equal(text.includes("canary"), false);
      const directory = join(platform.directory, "capture");
      const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((file) =>
        file.endsWith(".requests"),
      );
      assert.ok(files.length > 0);
      for (const file of files) assert.equal(readFileSync(join(directory, file)).includes("canary"), false);
    });

    it("returns requests from before a restart", async () => {
      const before = await requests("path=/a*");
      await platform.restart();
      const afterwards = await eventually(
        () => requests("path=/a*"),
        (list) => list.length === before.length,
      );
      assert.deepEqual(afterwards, before);
      assert.ok(afterwards.every(({ captured }) => captured));
    });

    it("captures nothing where it is off", async () => {
      await platform.api("PATCH", `/endpoints/${endpointId}`, { capture: { enabled: false } });
      await platform.request("https://app.capture.test/off");
      const [one] = await requests("path=/off");
      assert.equal(one?.captured, false);
    });
  });
}
