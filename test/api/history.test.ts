import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`the past on ${database.name}`, () => {
    let api: TestApi;
    let tenantKey: string;
    before(async () => {
      api = await startApi(database);
      tenantKey = (await api.ok("POST", "/accounts", { name: "tenant" })).api_key;
    });
    after(() => api.stop());

    const revisionOf = async (method: string, path: string, body?: Body): Promise<number> => {
      const response = await api.request(method, path, { ...(body && { body }) });
      assert.ok(response.status < 300, response.text);
      return Number(response.headers["postern-revision"]);
    };

    it(`the past on ${database.name} shows objects as they were, and none that did not exist`, async () => {
      const created = await api.request("POST", "/ip_policies", { body: { description: "first" } });
      const path = `/ip_policies/${created.body.id}`;
      const born = Number(created.headers["postern-revision"]);
      const changed = await revisionOf("PATCH", path, { description: "second" });
      await revisionOf("DELETE", path);
      const past = await api.request("GET", `${path}?at_revision=${born}`);
      assert.deepEqual(past.body, created.body);
      assert.equal(past.headers["postern-revision"], String(born));
      assert.equal(past.headers["etag"], created.headers["etag"]);
      assert.equal((await api.ok("GET", `${path}?at_revision=${changed}`)).description, "second");
      for (const absent of [0, born - 1, changed + 1]) {
        const response = await api.request("GET", `${path}?at_revision=${absent}`);
        assert.deepEqual([response.status, response.body.error_code], [404, errorCode("not_found")]);
      }
    });

    it(`the past on ${database.name} shows an edge with the routes and modules that it had`, async () => {
      const edge = await api.ok("POST", "/edges/https", { hostports: ["past.example.com:443"] });
      const path = `/edges/https/${edge.id}`;
      const route = await api.ok("POST", `${path}/routes`, { match_type: "path_prefix", match: "/", compression: {} });
      await api.ok("POST", `${path}/routes`, { match_type: "path_prefix", match: "/b" });
      const whole = await api.request("GET", path);
      const revision = whole.headers["postern-revision"];
      await revisionOf("DELETE", `${path}/routes/${route.id}/compression`);
      await revisionOf("DELETE", path);
      const past = await api.request("GET", `${path}?at_revision=${revision}`);
      assert.deepEqual(past.body, whole.body);
      assert.equal(past.headers["etag"], whole.headers["etag"]);
      const block = `${path}/routes/${route.id}/compression`;
      assert.deepEqual(await api.ok("GET", `${block}?at_revision=${revision}`), { enabled: true });
      const later = Number(revision) + 1;
      assert.equal(
        (await api.request("GET", `${block}?at_revision=${later}`)).body.error_code,
        errorCode("module_unset"),
      );
      const list = await api.ok("GET", `/edges/https?at_revision=${revision}`);
      assert.deepEqual(list.https_edges, [whole.body]);
    });

    it(`the past on ${database.name} pages through lists of the past as through those of today`, async () => {
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) {
        ids.unshift((await api.ok("POST", "/bot_users", { name: `past ${index}` })).id);
      }
      const revision = await revisionOf("GET", "/bot_users");
      for (const id of ids) await revisionOf("DELETE", `/bot_users/${id}`);
      assert.deepEqual((await api.ok("GET", "/bot_users")).bot_users, []);
      const seen: string[] = [];
      let next: string | null = `/bot_users?limit=2&at_revision=${revision}`;
      while (next !== null) {
        const page: Body = await api.ok("GET", next);
        seen.push(...page.bot_users.map(({ id }: Body) => id));
        next = page.next_page_uri && page.next_page_uri.slice(api.baseUrl.length);
      }
      assert.deepEqual(seen, ids);
      assert.deepEqual((await api.ok("GET", "/bot_users?at_revision=0")).bot_users, []);
    });

    it(`the past on ${database.name} refuses an invalid revision`, async () => {
      for (const text of ["", "-1", "x", "1.5", "9".repeat(16)]) {
        const response = await api.request("GET", `/bot_users?at_revision=${text}`);
        assert.deepEqual([response.status, response.body.error_code], [400, errorCode("query_invalid")], text);
      }
      const future = await api.request("GET", "/bot_users?at_revision=999999999");
      assert.deepEqual([future.status, future.body.error_code], [404, errorCode("revision_unknown")]);
      for (const path of ["/tunnels", "/app/users", "/app/sessions", "/app/sessions/appses_1"]) {
        const { body } = await api.request("GET", `${path}?at_revision=1`);
        assert.equal(body.error_code, errorCode("query_unknown"), path);
      }
    });

    it(`P1: the past on ${database.name} shows nothing of another account's past`, async () => {
      const { id } = await api.ok("POST", "/ip_policies", { description: "mine" });
      const revision = await revisionOf("GET", "/ip_policies");
      const query = `?at_revision=${revision}`;
      assert.equal((await api.request("GET", `/ip_policies/${id}${query}`, { key: tenantKey })).status, 404);
      assert.deepEqual((await api.ok("GET", `/ip_policies${query}`, undefined, tenantKey)).ip_policies, []);
    });
  });
}
