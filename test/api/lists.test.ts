/** Lists that are read again and again: each time as things are. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`lists read again on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const names = async (path = "/bot_users", key?: string): Promise<string[]> =>
      (await api.ok("GET", path, undefined, key)).bot_users.map(({ name }: Body) => name);

    it(`lists read again on ${database.name} reflect creations, changes and deletions, and nothing from other accounts`, async () => {
      assert.deepEqual(await names(), []);
      const first = await api.ok("POST", "/bot_users", { name: "first" });
      const second = await api.ok("POST", "/bot_users", { name: "second" });
      assert.deepEqual(await names(), ["second", "first"]);
      assert.deepEqual(await names(), ["second", "first"]);
      await api.ok("POST", "/ip_policies", {});
      assert.deepEqual(await names(), ["second", "first"]);
      await api.ok("PATCH", `/bot_users/${first.id}`, { name: "renamed" });
      assert.deepEqual(await names(), ["second", "renamed"]);
      await api.ok("DELETE", `/bot_users/${second.id}`);
      assert.deepEqual(await names(), ["renamed"]);
      await api.ok("DELETE", `/bot_users/${first.id}`);
      assert.deepEqual(await names(), []);
    });

    it(`lists read again on ${database.name} carry their revision and their length`, async () => {
      await api.ok("POST", "/bot_users", { name: "ünïcode" });
      await api.request("GET", "/bot_users");
      const { headers: policy } = await api.request("POST", "/ip_policies", { body: {} });
      const { headers, text } = await api.request("GET", "/bot_users");
      assert.equal(headers["postern-revision"], policy["postern-revision"]);
      assert.equal(headers["content-length"], String(Buffer.byteLength(text)));
    });

    it(`lists read again on ${database.name} distinguish limits, positions, server names and list names`, async () => {
      for (const name of ["a", "b", "c"]) await api.ok("POST", "/bot_users", { name });
      for (let round = 0; round < 2; round += 1) {
        assert.deepEqual(await names("/bot_users?limit=1"), ["c"]);
        const two = await api.ok("GET", "/bot_users?limit=2");
        assert.equal(two.next_page_uri, `${api.baseUrl}/bot_users?before_id=${two.bot_users[1].id}&limit=2`);
        assert.deepEqual(await names(`/bot_users?limit=1&before_id=${two.bot_users[0].id}`), ["b"]);
        const alias = await api.ok("GET", "/service_users?limit=1");
        assert.equal(alias.service_users[0].name, "c");
        const elsewhere = await api.request("GET", "/bot_users?limit=1", { headers: { host: "elsewhere.test" } });
        assert.equal(elsewhere.body.uri, "http://elsewhere.test/bot_users");
        assert.match(elsewhere.body.bot_users[0].uri, /^http:\/\/elsewhere\.test\//);
      }
    });

    it(`differ for other accounts, on ${database.name}`, async () => {
      const { api_key: tenant } = await api.ok("POST", "/accounts", { name: "tenant" });
      for (let round = 0; round < 2; round += 1) {
        assert.notDeepEqual(await names(), []);
        assert.deepEqual(await names("/bot_users", tenant), []);
      }
    });

    it(`differ for keys that see only a part of the objects, on ${database.name}`, async () => {
      const metadata = "team: a";
      await api.ok("POST", "/ip_policies", { metadata });
      const scopes = ["read", "metadata:team: a"];
      const { token } = await api.ok("POST", "/api_keys", { scopes });
      const count = async (key?: string): Promise<number> =>
        (await api.ok("GET", "/ip_policies", undefined, key)).ip_policies.length;
      for (let round = 0; round < 2; round += 1) {
        assert.ok((await count()) > 1);
        assert.equal(await count(token), 1);
      }
    });

    it(`lists read again on ${database.name} are correct for more lists than the cache holds`, async () => {
      const wanted = await names("/bot_users");
      for (let round = 0; round < 2; round += 1) {
        for (let limit = 1; limit <= 70; limit += 1) {
          assert.deepEqual(await names(`/bot_users?limit=${limit}`), wanted.slice(0, limit));
        }
      }
    });
  });
}
