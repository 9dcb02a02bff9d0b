import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`limited API keys on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const keyWith = async (...scopes: string[]): Promise<string> =>
      (await api.ok("POST", "/api_keys", { scopes })).token;
    const lacks = (response: ApiResponse, scope: string): void => {
      assert.deepEqual([response.status, response.body.error_code], [403, errorCode("scope_missing")], response.text);
      assert.equal(response.body.details.scope, scope);
      assert.ok(response.body.msg.includes(scope) || scope === "*", response.body.msg);
    };
    const call = (method: string, path: string, key: string, body?: unknown): Promise<ApiResponse> =>
      api.request(method, path, { key, ...(body !== undefined && { body }) });

    it(`K5: limited API keys on ${database.name} read and do not write, by whatever method`, async () => {
      const key = await keyWith("read");
      const { id } = await api.ok("POST", "/ip_policies", {});
      for (const path of ["/ip_policies", `/ip_policies/${id}`, "/revisions", "/export", "/tunnels"]) {
        assert.equal((await call("GET", path, key)).status, 200, path);
      }
      assert.equal((await call("POST", "/plan", key, { objects: {} })).status, 200);
      for (const { id: operation, method, path, open, reads } of describedOperations()) {
        if (method === "GET" || open || reads) continue;
        const response = await call(method, path.replaceAll(/\{\w+\}/g, "x"), key);
        assert.equal(response.body.details.scope, "write", `${operation}: ${response.text}`);
        lacks(response, "write");
      }
      assert.equal((await call("GET", `/ip_policies/${id}`, key)).status, 200);
    });

    it(`K5: limited API keys on ${database.name} reach only the kinds that they name`, async () => {
      const key = await keyWith("type:ip_policy", "type:ip_policy_rule");
      const policy = await call("POST", "/ip_policies", key, { description: "mine" });
      assert.equal(policy.status, 201);
      const rule = { ip_policy_id: policy.body.id, cidr: "192.0.2.0/24", action: "allow" };
      assert.equal((await call("POST", "/ip_policy_rules", key, rule)).status, 201);
      lacks(await call("GET", "/bot_users", key), "type:bot_user");
      lacks(await call("POST", "/service_users", key, { name: "x" }), "type:bot_user");
      lacks(await call("PUT", "/edges/https/x/routes/y/backend", key, {}), "type:https_edge_route");
      for (const [method, path] of [
        ["GET", "/revisions"],
        ["GET", "/export"],
        ["POST", "/plan"],
        ["POST", "/apply"],
        ["POST", "/revisions/1/rollback"],
      ] as const) {
        lacks(await call(method, path, key), "type:*");
      }
      const both = await keyWith("read", "type:ip_policy");
      assert.equal((await call("GET", "/ip_policies", both)).status, 200);
      lacks(await call("DELETE", `/ip_policies/${policy.body.id}`, both), "write");
    });

    it(`K4: limited API keys on ${database.name} have policies read only the secrets that they may`, async () => {
      const { id: edge } = await api.ok("POST", "/edges/tcp", { metadata: "team-a" });
      const put = (key: string, condition: string): Promise<ApiResponse> =>
        call("PUT", `/edges/tcp/${edge}/traffic_policy`, key, {
          value: JSON.stringify({ on_tcp_connect: [{ expressions: [condition], actions: [{ type: "deny" }] }] }),
        });
      for (const [team, name] of [
        ["team-a", "scopes-a"],
        ["team-b", "scopes-b"],
      ] as const) {
        const { id: vault_id } = await api.ok("POST", "/vaults", { name, metadata: team });
        await api.ok("POST", "/vault_secrets", { name: "key", value: "1", vault_id, metadata: team });
        await api.ok("POST", "/vault_secrets", { name: "other", value: "2", vault_id, metadata: "team-c" });
      }
      const reading = (vault: string, name = "key"): string => `secrets.get('${vault}', '${name}') == ''`;
      lacks(await put(await keyWith("write"), reading("scopes-a")), "secrets");
      lacks(await put(await keyWith("type:tcp_edge"), `secrets . get('scopes-a', "key") == ''`), "secrets");
      const team = await keyWith("secrets", "metadata:team-a");
      assert.equal((await put(team, reading("scopes-a"))).status, 200);
      for (const condition of [
        reading("scopes-a", "other"),
        reading("scopes-b"),
        reading("scopes-none"),
        "secrets.get('scopes-' + 'b', 'key') == ''",
      ]) {
        lacks(await put(team, condition), "*");
      }
      // Existing references stay, and kinds without references may be written.
      const other = await keyWith("write");
      assert.equal((await call("PATCH", `/edges/tcp/${edge}`, other, { description: "x" })).status, 200);
      assert.equal((await put(other, "conn.client_port == 1")).status, 200);
    });

    it(`K5: limited API keys on ${database.name} reach only objects whose metadata begin as they say`, async () => {
      const key = await keyWith("metadata:team-a", "metadata:shared/");
      const [mine, theirs] = [
        await call("POST", "/edges/https", key, { metadata: "team-a/shop" }),
        await api.ok("POST", "/edges/https", { metadata: "team-b" }),
      ];
      assert.equal(mine.status, 201, mine.text);
      lacks(await call("POST", "/edges/https", key, { metadata: "team-b" }), "metadata:team-b");
      lacks(await call("POST", "/edges/https", key, {}), "metadata:");
      const path = `/edges/https/${mine.body.id}`;
      assert.equal((await call("GET", path, key)).status, 200);
      assert.equal((await call("PATCH", path, key, { description: "x" })).status, 200);
      assert.equal((await call("PATCH", path, key, { metadata: "shared/shop" })).status, 200);
      lacks(await call("PATCH", path, key, { metadata: "" }), "metadata:");
      lacks(await call("PATCH", path, key, { metadata: "team-b" }), "metadata:team-b");
      for (const method of ["GET", "PATCH", "DELETE"]) {
        const body = method === "PATCH" ? {} : undefined;
        lacks(await call(method, `/edges/https/${theirs.id}`, key, body), "metadata:team-b");
      }
      lacks(await call("PUT", `/edges/https/${theirs.id}/tls_termination`, key, {}), "metadata:team-b");
      const route = { match_type: "path_prefix", match: "/", metadata: "team-a" };
      assert.equal((await call("POST", `${path}/routes`, key, route)).status, 201);
      lacks(await call("POST", `/edges/https/${theirs.id}/routes`, key, route), "metadata:team-b");
      const absent = await call("GET", "/edges/https/edghts_none", key);
      assert.equal(absent.status, 404);
      for (const path of ["/bot_users", "/revisions", "/export", "/edges/https?at_revision=1"]) {
        lacks(await call("GET", path, key), "metadata:");
      }
    });

    it(`K5: limited API keys on ${database.name} write no reference to an object that they may not see`, async () => {
      const key = await keyWith("metadata:own");
      const group = (metadata: string) => ({ metadata, labels: { app: "x" } });
      const [own, other] = [
        await api.ok("POST", "/backends/tunnel_group", group("own/1")),
        await api.ok("POST", "/backends/tunnel_group", group("theirs")),
      ];
      const edge = await api.ok("POST", "/edges/https", { metadata: "own" });
      const routes = `/edges/https/${edge.id}/routes`;
      const route = (id: string, match = "/") => ({
        metadata: "own",
        match_type: "path_prefix",
        match,
        backend: { backend_id: id },
      });
      lacks(await call("POST", routes, key, route(other.id)), "metadata:theirs");
      const made = await call("POST", routes, key, route(own.id));
      assert.equal(made.status, 201, made.text);
      const one = `${routes}/${made.body.id}`;
      lacks(await call("PATCH", one, key, { backend: { backend_id: other.id } }), "metadata:theirs");
      lacks(await call("PUT", `${one}/backend`, key, { backend_id: other.id }), "metadata:theirs");
      const policy = await api.ok("POST", "/ip_policies", {});
      lacks(await call("PUT", `${one}/ip_restriction`, key, { ip_policy_ids: [policy.id] }), "metadata:");
      const weighted = (id: string) => ({ metadata: "own", backends: { [id]: 1 } });
      lacks(await call("POST", "/backends/weighted", key, weighted(other.id)), "metadata:theirs");
      assert.equal((await call("POST", "/backends/weighted", key, weighted(own.id))).status, 201);
      const rule = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow", metadata: "own" };
      lacks(await call("POST", "/ip_policy_rules", key, rule), "metadata:");
      const vault = await api.ok("POST", "/vaults", { name: "theirs by name", metadata: "theirs" });
      const secret = { name: "s", value: "x", vault_name: vault.name, metadata: "own" };
      lacks(await call("POST", "/vault_secrets", key, secret), "metadata:theirs");
      const bot = await api.ok("POST", "/bot_users", { name: "without metadata" });
      lacks(await call("POST", "/credentials", key, { owner_id: bot.id, metadata: "own" }), "metadata:");
      const unknown = await call("PUT", `${one}/backend`, key, { backend_id: "bkdtg_none" });
      assert.deepEqual([unknown.status, unknown.body.error_code], [404, errorCode("reference_unknown")]);
    });

    it(`I10: limited API keys on ${database.name} create service tokens for their own routes only`, async () => {
      const key = await keyWith("metadata:machines");
      const routeOf = async (metadata: string): Promise<string> => {
        const edge = await api.ok("POST", "/edges/https", { metadata });
        return (
          await api.ok("POST", `/edges/https/${edge.id}/routes`, { match: "/", match_type: "path_prefix", metadata })
        ).id;
      };
      const [own, other] = [await routeOf("machines"), await routeOf("theirs")];
      const token = (...acl: string[]) => ({ name: "m", metadata: "machines", acl });
      for (const acl of [[other], [own, other], ["app.example.com"], ["*.example.com"], ["ep_none"]]) {
        lacks(await call("POST", "/service_tokens", key, token(...acl)), "*");
      }
      const made = await call("POST", "/service_tokens", key, token(own));
      assert.equal(made.status, 201, made.text);
      lacks(await call("PATCH", `/service_tokens/${made.body.id}`, key, { acl: [other] }), "*");
      assert.equal((await call("POST", `/service_tokens/${made.body.id}/rotate`, key, {})).status, 200);
      const foreign = await api.ok("POST", "/service_tokens", { name: "m", acl: [own], metadata: "theirs" });
      assert.notEqual((await call("POST", `/service_tokens/${foreign.id}/rotate`, key, {})).status, 200);
    });

    it(`K5: limited API keys on ${database.name} preserve what others attached to their objects, while they change the rest`, async () => {
      const key = await keyWith("metadata:kept");
      const policy = await api.ok("POST", "/ip_policies", { metadata: "theirs" });
      const edge = await api.ok("POST", "/edges/tcp", {
        metadata: "kept",
        ip_restriction: { ip_policy_ids: [policy.id] },
      });
      const changed = await call("PATCH", `/edges/tcp/${edge.id}`, key, { description: "changed" });
      assert.equal(changed.status, 200, changed.text);
      assert.equal(changed.body.ip_restriction.ip_policies[0].id, policy.id);
      assert.equal((await call("DELETE", `/edges/tcp/${edge.id}/ip_restriction`, key)).status, 204);
    });

    it(`K5: limited API keys on ${database.name} list only visible objects, in full pages`, async () => {
      const key = await keyWith("metadata:listed");
      const wanted: string[] = [];
      for (let index = 0; index < 12; index += 1) {
        const metadata = index % 3 === 0 ? `listed ${index}` : "other";
        const { id } = await api.ok("POST", "/vaults", { name: `v${index}`, metadata });
        if (index % 3 === 0) wanted.unshift(id);
      }
      const seen: string[] = [];
      let next: string | null = "/vaults?limit=2";
      while (next !== null) {
        const { body } = await call("GET", next, key);
        seen.push(...body.vaults.map(({ id }: Body) => id));
        next = body.next_page_uri && body.next_page_uri.slice(api.baseUrl.length);
      }
      assert.deepEqual(seen, wanted);
      const filter = encodeURIComponent("obj.metadata.startsWith('')");
      const filtered = await call("GET", `/vaults?filter=${filter}`, key);
      assert.deepEqual(
        filtered.body.vaults.map(({ id }: Body) => id),
        wanted,
      );
    });

    it(`K4: limited API keys on ${database.name} see secrets only when they may`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const path = `/edges/https/${edge.id}/routes`;
      const webhook_verification = { provider: "github", secret: "s3cret-hook" };
      const oauth = { provider: { github: { client_id: "id", client_secret: "s3cret-client" } } };
      const body = { match_type: "path_prefix", match: "/", webhook_verification, oauth };
      const route = await api.ok("POST", path, body);
      const [blind, seeing] = [await keyWith("write"), await keyWith("write", "secrets")];
      for (const where of ["/edges/https", `/edges/https/${edge.id}`, `${path}/${route.id}`]) {
        for (const [key, sees] of [
          [api.apiKey, true],
          [seeing, true],
          [blind, false],
        ] as const) {
          const { text } = await call("GET", where, key);
          assert.equal(text.includes("s3cret-hook") && text.includes("s3cret-client"), sees, where);
          if (!sees) assert.ok(!text.includes("s3cret"), where);
        }
      }
      const block = `${path}/${route.id}/webhook_verification`;
      assert.equal((await call("GET", block, blind)).body.secret, "***");
      assert.equal((await call("GET", block, seeing)).body.secret, "s3cret-hook");
      const changed = await call("PATCH", `${path}/${route.id}`, blind, { description: "x" });
      assert.ok(!changed.text.includes("s3cret"));
      assert.equal((await call("PUT", block, blind, webhook_verification)).body.secret, "***");
      const revision = changed.headers["postern-revision"];
      assert.ok(!(await call("GET", `${path}/${route.id}?at_revision=${revision}`, blind)).text.includes("s3cret"));
    });

    it(`K5: limited API keys on ${database.name} make no keys that can do more than they can`, async () => {
      const key = await keyWith("read", "write", "type:api_key", "type:vault");
      for (const scopes of [[], ["type:bot_user"], ["write"], ["type:*"], ["type:vault", "secrets"], undefined]) {
        lacks(await call("POST", "/api_keys", key, { scopes }), "*");
      }
      lacks(await call("POST", "/api_keys", key, { scopes: ["type:vault"], operator: true }), "*");
      const made = await call("POST", "/api_keys", key, { scopes: ["read", "type:vault"] });
      assert.equal(made.status, 201, made.text);
      assert.equal((await call("GET", "/vaults", made.body.token)).status, 200);
      lacks(await call("GET", "/ip_policies", made.body.token), "type:ip_policy");
      const widened = await call("PATCH", `/api_keys/${made.body.id}`, key, { scopes: [] });
      assert.equal(widened.status, 400);
      const team = await keyWith("metadata:team-a");
      const body = (prefix: string) => ({ metadata: "team-a", scopes: [`metadata:${prefix}`] });
      assert.equal((await call("POST", "/api_keys", team, body("team-a/x"))).status, 201);
      lacks(await call("POST", "/api_keys", team, body("team")), "*");
    });

    it(`K5: limited API keys on ${database.name} make no account, whose first key would not be limited`, async () => {
      const { token } = await api.ok("POST", "/api_keys", { scopes: ["write", "secrets"], operator: true });
      lacks(await call("POST", "/accounts", token, { name: "by a limited key" }), "*");
      assert.equal((await call("GET", "/accounts", token)).status, 200);
    });

    it(`K5: limited API keys on ${database.name} see no hidden rules in a policy test`, async () => {
      const { id } = await api.ok("POST", "/ip_policies", {});
      const rule = await api.ok("POST", "/ip_policy_rules", { ip_policy_id: id, cidr: "192.0.2.0/24", action: "deny" });
      const tested = async (...scopes: string[]): Promise<Body> =>
        (await call("POST", `/ip_policies/${id}/test`, await keyWith(...scopes), { source_ip: "192.0.2.1" })).body;
      const hidden = await tested("type:ip_policy");
      assert.deepEqual([hidden.allowed, hidden.decided_by], [false, null]);
      assert.ok(!hidden.reason.includes("192.0.2.0"));
      assert.equal((await tested("type:ip_policy", "type:ip_policy_rule")).decided_by.id, rule.id);
    });

    it(`limited API keys on ${database.name} are refused when a scope cannot be read`, async () => {
      for (const [scope, path] of [
        ["", "scopes[0]"],
        ["reading", "scopes[0]"],
        ["type:", "scopes[0]"],
        ["type:nothing", "scopes[0]"],
      ] as const) {
        const response = await api.request("POST", "/api_keys", { body: { scopes: [scope] } });
        assert.equal(response.status, 400, scope);
        assert.ok(path in response.body.details, response.text);
      }
    });

    it(`limited API keys on ${database.name} keep their limits across a restart`, async () => {
      const place = await database.create();
      const bootstrap = { apiKey: api.apiKey, authtoken: api.authtoken };
      const first = await startApi(database, { databaseUrl: place.url, bootstrap });
      const { token } = await first.ok("POST", "/api_keys", { scopes: ["read"] });
      await first.stop();
      const again = await startApi(database, { databaseUrl: place.url, bootstrap });
      lacks(await again.request("POST", "/ip_policies", { body: {}, key: token }), "write");
      await again.stop();
      await place.drop();
    });
  });
}
