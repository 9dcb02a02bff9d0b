/** Writes that are only tried. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const also = (response: ApiResponse): string[] =>
  Array.from((response.headers["postern-also"] ?? "").matchAll(/"([^"]*)"/g), ([, text = ""]) => text);

for (const database of databases) {
  describe(`writes that are only tried on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const tryIt = (method: string, path: string, body?: object): Promise<ApiResponse> =>
      api.request(method, `${path}?dry_run=true`, { ...(body && { body }) });

    it(`a dry run of a creation on ${database.name} returns its defaults and its side effects`, async () => {
      const hostports = ["tried.example.com:443"];
      const tried = await tryIt("POST", "/edges/https", { hostports });
      assert.deepEqual([tried.status, tried.body.hostports, tried.body.metadata], [201, hostports, ""], tried.text);
      assert.deepEqual(also(tried), ["create reserved_domain tried.example.com"]);
      assert.equal((await api.request("GET", `/edges/https/${tried.body.id}`)).status, 404);
      const made = await api.request("POST", "/edges/https", { body: { hostports } });
      assert.deepEqual([made.status, also(made)], [201, []], "what was done is in the history");
      const again = await tryIt("POST", "/edges/https", { hostports });
      assert.equal(again.status, 409, again.text);
    });

    it(`a dry run of a deletion on ${database.name} lists what would be deleted with it, up to a limit`, async () => {
      const policy = await api.ok("POST", "/ip_policies", {});
      const ids: string[] = [];
      for (let at = 0; at < 12; at += 1) {
        const rule = { ip_policy_id: policy.id, cidr: `192.0.2.${at}/32`, action: "allow" };
        ids.push((await api.ok("POST", "/ip_policy_rules", rule)).id);
      }
      const tried = await tryIt("DELETE", `/ip_policies/${policy.id}`);
      const told = also(tried);
      assert.deepEqual([tried.status, told.length, told.at(-1)], [204, 11, "and 2 more"]);
      for (const line of told.slice(0, -1)) {
        const [word, kind, id = ""] = line.split(" ");
        assert.deepEqual([word, kind, ids.includes(id)], ["delete", "ip_policy_rule", true]);
      }
      assert.equal((await api.request("GET", `/ip_policies/${policy.id}`)).status, 200);
    });

    it(`a dry run of a module change on ${database.name} neither replaces nor removes it`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match: "/" });
      for (const [path, body, wrong] of [
        [`/edges/https/${edge.id}/tls_termination`, { min_version: "1.3" }, { min_version: "0.9" }],
        [`/edges/https/${edge.id}/routes/${route.id}/compression`, { enabled: false }, { enabled: 1 }],
      ] as const) {
        const before = (await api.request("GET", path.slice(0, path.lastIndexOf("/")))).headers["etag"];
        const tried = await tryIt("PUT", path, body);
        assert.equal(tried.status, 200, tried.text);
        for (const [name, value] of Object.entries(body)) assert.equal(tried.body[name], value);
        assert.equal((await api.request("GET", path.slice(0, path.lastIndexOf("/")))).headers["etag"], before);
        assert.equal((await tryIt("PUT", path, wrong)).status, 400);
        await api.ok("PUT", path, body);
        assert.equal((await tryIt("DELETE", path)).status, 204);
        assert.equal((await api.request("GET", path)).status, 200);
        await api.ok("DELETE", path);
        assert.equal((await tryIt("DELETE", path)).status, 404);
      }
      assert.equal((await api.request("PUT", "/edges/https/x/mutual_tls?dry_run=maybe", { body: {} })).status, 404);
    });

    it(`K5: a token that is only tried on ${database.name} is not shown, and opens nothing`, async () => {
      for (const path of ["/api_keys", "/credentials", "/accounts"]) {
        const tried = await tryIt("POST", path, path === "/accounts" ? { name: "tried" } : {});
        assert.equal(tried.status, 201, tried.text);
        assert.doesNotMatch(tried.text, /postern_a[kt]_/);
      }
    });
  });
}
