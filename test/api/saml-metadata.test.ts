/** How often metadata of SAML providers is looked for, by the control plane's clock. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import { derOf, makeProviderKeys, metadataXml } from "../support/saml-idp.ts";

const keys = await makeProviderKeys();

for (const database of databases) {
  describe(`metadata of a SAML provider with an address, on ${database.name}`, () => {
    it(`metadata of a SAML provider with an address, on ${database.name} is fetched hourly, or as often as it requests, and deleted with its route`, async () => {
      const asked: (string | undefined)[] = [];
      let attributes = "";
      let isAway = false;
      const server = createServer((request, response) => {
        const tag = request.headers["if-none-match"];
        asked.push(tag);
        if (isAway) return response.writeHead(503).end();
        const etag = `"${attributes}"`;
        if (tag === etag) return response.writeHead(304).end();
        const certificates = [derOf(keys.certificatePem)];
        const text = metadataXml({ certificates, redirect: "https://id.example/sso", attributes });
        return response.writeHead(200, { "content-type": "application/xml", etag }).end(text);
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const clock = movableClock();
      const api = await startApi(database, { clock, allowLocalUpstreams: true });
      try {
        const edge = await api.ok("POST", "/edges/https", { hostports: ["app.example.com:443"] });
        const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
          match_type: "path_prefix",
          match: "/",
          saml: { idp_metadata_url: url },
        });
        api.edge.send({ type: "hello", edgeId: "edge" });
        await until(() => asked.length === 1 && kept(api) === '""');
        clock.move(3_590_000);
        assert.equal(asked.length, 1);
        clock.move(20_000);
        await until(() => asked.length === 2);
        assert.deepEqual(asked, [undefined, '""']);
        attributes = ' cacheDuration="PT10M"';
        await until(() => {
          clock.move(600_000);
          return kept(api)?.includes("PT10M") === true;
        });
        const { length } = asked;
        clock.move(590_000);
        assert.equal(asked.length, length);
        clock.move(20_000);
        await until(() => asked.length === length + 1);
        isAway = true;
        await until(() => {
          clock.move(300_000);
          return kept(api, "problem") === "it answers 503";
        });
        assert.ok(kept(api)?.includes("PT10M"), "what is good is kept");
        isAway = false;
        await until(() => {
          clock.move(30_000);
          return kept(api, "problem") === "";
        });
        const before = asked.length;
        await api.ok("DELETE", `/edges/https/${edge.id}/routes/${route.id}`);
        await until(() => kept(api) === undefined);
        clock.move(7_200_000);
        assert.equal(asked.length, before);
      } finally {
        await api.stop();
        server.close();
      }
    });

    it(`I7: metadata of a SAML provider with an address, on ${database.name} is fetched from at most four addresses of an account at once`, async () => {
      const open = new Set<string>();
      const seen = new Set<string>();
      const release: (() => void)[] = [];
      let most = 0;
      const server = createServer((request, response) => {
        seen.add(request.url ?? "");
        open.add(request.url ?? "");
        most = Math.max(most, open.size);
        release.push(() => {
          open.delete(request.url ?? "");
          response.writeHead(404).end();
        });
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const clock = movableClock();
      const api = await startApi(database, { clock, allowLocalUpstreams: true });
      try {
        const [account] = (await api.ok("GET", "/accounts")).accounts;
        const { port } = server.address() as AddressInfo;
        api.edge.send({ type: "hello", edgeId: "edge" });
        for (let call = 0; call < 20; call += 1) {
          api.edge.send({
            type: "metadata_wanted",
            call,
            accountId: account.id,
            askedBy: `app${call}.example.com-abcdefgh`,
            address: { url: `http://127.0.0.1:${port}/${call}`, document: "" },
          });
        }
        await until(() => open.size === 4);
        await until(() => {
          for (const one of release.splice(0)) one();
          clock.move(5_000);
          return seen.size === 20;
        });
        assert.equal(most, 4);
      } finally {
        await api.stop();
        server.close();
      }
    });

    it(`metadata of a SAML provider with an address, on ${database.name} is fetched for an edge that asks, until none has asked for a week`, async () => {
      let asked = 0;
      const server = createServer((_request, response) => {
        asked += 1;
        const text = metadataXml({ certificates: [derOf(keys.certificatePem)], redirect: "https://id.example/sso" });
        return response.writeHead(200, { "content-type": "application/xml" }).end(text);
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const clock = movableClock();
      const api = await startApi(database, { clock, allowLocalUpstreams: true });
      try {
        const [account] = (await api.ok("GET", "/accounts")).accounts;
        const wanted = (call: number): void =>
          api.edge.send({
            type: "metadata_wanted",
            call,
            accountId: account.id,
            askedBy: "app.example.com-abcdefgh",
            address: { url, document: "" },
          });
        const answerTo = (call: number) =>
          api.edge.received.find((one) => one.type === "metadata_looked_for" && one.call === call);
        const told = (call: number): boolean => answerTo(call) !== undefined;
        api.edge.send({ type: "hello", edgeId: "edge" });
        wanted(1);
        await until(() => told(1));
        assert.equal((answerTo(1) as { readonly isNew?: boolean }).isNew, true);
        assert.equal(kept(api, "asked_by"), "app.example.com-abcdefgh");
        for (const times of [2, 3]) {
          clock.move(3_610_000);
          await until(() => asked === times);
          // Answered when the look is over, so that the clock does not run ahead of it.
          wanted(10 + times);
          await until(() => told(10 + times));
        }
        clock.move(5 * 86_400_000);
        const before = kept(api, "asked_at");
        wanted(2);
        await until(() => kept(api, "asked_at") !== before);
        clock.move(6 * 86_400_000);
        assert.notEqual(kept(api), undefined, "it was asked for since");
        await until(() => {
          clock.move(3_600_000);
          return kept(api) === undefined;
        });
        const last = asked;
        clock.move(86_400_000);
        assert.equal(asked, last);
      } finally {
        await api.stop();
        server.close();
      }
    });
  });
}

/** The edge's present metadata; undefined for none. */
function kept(api: TestApi, field = "etag"): string | undefined {
  const has = new Map<string, string>();
  for (const message of api.edge.received) {
    const changes =
      message.type === "changes"
        ? message.changes
        : message.type === "snapshot"
          ? message.objects.map((object) => ({ ...object, object }))
          : [];
    for (const { kind, id, object } of changes) {
      if (kind !== "saml_metadata") continue;
      if (object) has.set(id, String(object.doc[field]));
      else has.delete(id);
    }
  }
  assert.ok(has.size <= 1);
  return [...has.values()][0];
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.ok(condition());
}
