/** Input that means two things, or nothing, on every way in: refused by name, and nothing is made. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`input on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const refused = (response: ApiResponse, number: number, field?: string): void => {
      assert.deepEqual([response.status, response.body.error_code], [400, `ERR_POSTERN_${number}`], response.text);
      if (field !== undefined) assert.ok(field in response.body.details, response.text);
    };

    it(`input on ${database.name} refuses times that the calendar does not have`, async () => {
      for (const path of ["/api_keys", "/credentials"]) {
        for (const expires_at of ["2099-02-30T00:00:00Z", "2099-04-31T00:00:00Z", "2099-01-01T24:00:00Z"]) {
          refused(await api.request("POST", path, { body: { expires_at } }), 215, "expires_at");
        }
        const made = await api.ok("POST", path, { expires_at: "2096-02-29T23:59:59.999+01:00" });
        assert.equal(made.expires_at, "2096-02-29T22:59:59Z");
      }
    });

    it(`input on ${database.name} refuses names of white space alone, of whatever kind`, async () => {
      const vault = await api.ok("POST", "/vaults", { name: "one" });
      for (const blank of [" ", "\t", "\u00a0 \u2003", "\n"]) {
        for (const [path, body] of [
          ["/bot_users", { name: blank }],
          ["/service_users", { name: blank }],
          ["/vaults", { name: blank }],
          ["/vault_secrets", { name: blank, value: "x", vault_id: vault.id }],
          ["/accounts", { name: blank }],
        ] as const) {
          refused(await api.request("POST", path, { body }), 215, "name");
        }
        refused(await api.request("PATCH", `/vaults/${vault.id}`, { body: { name: blank } }), 215, "name");
        for (const labels of [{ [blank]: "web" }, { app: blank }]) {
          refused(await api.request("POST", "/backends/tunnel_group", { body: { labels } }), 6508);
        }
      }
      const kept = await api.ok("POST", "/bot_users", { name: " a b " });
      assert.equal(kept.name, " a b ");
      await api.ok("POST", "/vault_secrets", { name: "blank", value: " ", vault_id: vault.id });
    });

    it(`input on ${database.name} may use either name of a parameter, or both with the same value`, async () => {
      const [{ id: first }, { id: second }] = [
        await api.ok("POST", "/ip_policies", {}),
        await api.ok("POST", "/ip_policies", {}),
      ];
      for (const path of ["/ip_policies", "/bot_users", "/tunnels", "/reserved_domains"]) {
        refused(await api.request("GET", `${path}?before_id=${first}&beforeId=${second}`), 230);
        refused(await api.request("GET", `${path}?before_id=${first}&before_id=${first}`), 230);
        assert.equal((await api.request("GET", `${path}?before_id=${first}&beforeId=${first}`)).status, 200);
      }
    });

    it(`input on ${database.name} may use either name of a field, or both with the same value`, async () => {
      const body = { domain: "a.example.com", name: "b.example.com" };
      refused(await api.request("POST", "/reserved_domains", { body }), 215, "domain");
      await api.ok("POST", "/reserved_domains", { domain: "c.example.com", name: "c.example.com" });
      const value = JSON.stringify({ inbound: [], on_http_request: [] });
      const edge = await api.ok("POST", "/edges/https", {});
      const route = { match_type: "path_prefix", match: "/", traffic_policy: { value } };
      refused(await api.request("POST", `/edges/https/${edge.id}/routes`, { body: route }), 2236);
    });

    it(`input on ${database.name} makes nothing of an empty body, and something of {}`, async () => {
      const count = async () => (await api.ok("GET", "/ip_policies")).ip_policies.length as number;
      const before = await count();
      const json = { "content-type": "application/json" };
      const chunked = { ...json, "transfer-encoding": "chunked" };
      const { id } = await api.ok("POST", "/ip_policies", { description: "kept" });
      const edge = await api.ok("POST", "/edges/https", {});
      for (const headers of [json, { ...json, "content-length": "0" }, chunked]) {
        const body = headers === chunked ? "" : undefined;
        refused(await api.request("POST", "/ip_policies", { headers, body }), 213);
        refused(await api.request("PUT", `/edges/https/${edge.id}/tls_termination`, { headers, body }), 213);
        assert.equal((await api.request("PATCH", `/ip_policies/${id}`, { headers, body })).body.description, "kept");
        refused(await api.request("POST", "/apply", { headers, body }), 213);
      }
      refused(await api.request("POST", "/ip_policies"), 213);
      assert.equal(await count(), before + 1);
      await api.ok("POST", "/ip_policies", {});
      assert.equal(await count(), before + 2);
    });

    it(`input on ${database.name} treats a module without a body or content type as {}, because some clients drop empty objects`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const set = await api.request("PUT", `/edges/https/${edge.id}/tls_termination`);
      assert.deepEqual([set.status, set.body.enabled], [200, true], set.text);
      assert.equal((await api.request("PATCH", `/edges/https/${edge.id}`)).status, 200);
    });
  });
}
