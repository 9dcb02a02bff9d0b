/** Answers about what would be allowed, without trying it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { verifyWebhook } from "../../src/webhooks/webhook-verification.ts";

describe("the testers of the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { domain: "t.example.com", httpsPort: 8443 });
  });
  after(() => api.stop());

  it("the tester of an IP policy applies its rules, deny first, and names the matching rule", async () => {
    const { id } = await api.ok("POST", "/ip_policies", {});
    const rule = (cidr: string, action: string) =>
      api.ok("POST", "/ip_policy_rules", { ip_policy_id: id, cidr, action });
    const allow = await rule("198.51.100.0/24", "allow");
    const deny = await rule("198.51.100.7/32", "deny");
    const test = (source_ip: string) => api.ok("POST", `/ip_policies/${id}/test`, { source_ip });
    const told = [await test("198.51.100.8"), await test("::ffff:198.51.100.7"), await test("2001:db8::1")];
    assert.deepEqual(
      told.map(({ allowed, decided_by }) => [allowed, decided_by?.id]),
      [
        [true, allow.id],
        [false, deny.id],
        [false, id],
      ],
    );
    const wrong = await api.request("POST", `/ip_policies/${id}/test`, { body: { source_ip: "300.1.1.1" } });
    assert.deepEqual([wrong.status, Object.keys(wrong.body.details)[0]], [400, "source_ip"]);
  });

  it("the tester of an agent token's ACL returns what agents may publish", async () => {
    const { id } = await api.ok("POST", "/credentials", { acl: ["bind:*.shop.example", "bind:app=web"] });
    const test = (bind: string) => api.ok("POST", `/credentials/${id}/test`, { bind });
    assert.deepEqual(
      await Promise.all(
        ["a.shop.example:443", "shop.example", "app=web", "app=api"].map(async (one) => (await test(one)).allowed),
      ),
      [true, false, true, false],
    );
    assert.match((await test("app=web")).reason, /bind:app=web/);
    const open = await api.ok("POST", "/credentials", {});
    assert.equal((await api.ok("POST", `/credentials/${open.id}/test`, { bind: "any.example" })).allowed, true);
  });

  it("the tester of an API key's scopes returns what the key may call, and names the missing scope", async () => {
    const { id, token } = await api.ok("POST", "/api_keys", { scopes: ["read", "type:ip_policy", "metadata:team-a"] });
    const test = (operation: string, metadata?: string) =>
      api.ok("POST", `/api_keys/${id}/test`, { operation, ...(metadata !== undefined && { metadata }) });
    const told = [
      await test("listIPPolicies", "team-a"),
      await test("createIPPolicy", "team-a"),
      await test("listVaults", "team-a"),
      await test("getIPPolicy", "team-b"),
    ];
    assert.deepEqual(
      told.map(({ allowed, reason }) => (allowed ? true : reason.replace(/.* /, ""))),
      [true, "write", "type:vault", "metadata:team-b"],
    );
    assert.equal((await api.request("POST", "/ip_policies", { body: {}, key: token })).status, 403);
    const unknown = await api.request("POST", `/api_keys/${id}/test`, { body: { operation: "nothing" } });
    assert.equal(unknown.status, 400);
  });

  it("the tester of webhook providers signs a sample that verifies, and refuses a secret that the provider cannot have", async () => {
    const url = "https://hooks.example.com/github";
    const sample = { provider: "github", secret: "s3cret", url, body: '{"a":1}' };
    const signed = await api.ok("POST", "/webhooks/sign", sample);
    const fields = new Map(
      signed.headers.map(({ name, value }: { name: string; value: string }) => [name, [value]] as const),
    );
    const headers = { getAll: (name: string) => (fields.get(name) as readonly string[] | undefined) ?? [] };
    const message = { method: "POST", url: signed.url, headers, body: Buffer.from(signed.body) };
    assert.equal((await verifyWebhook("github", "s3cret", message, Date.now())).wrong, undefined);
    assert.notEqual((await verifyWebhook("github", "other", message, Date.now())).wrong, undefined);
    for (const body of [
      { ...sample, secret: "" },
      { ...sample, provider: "nobody" },
      { ...sample, url: "x" },
    ]) {
      assert.equal((await api.request("POST", "/webhooks/sign", { body })).status, 400);
    }
  });

  it("the references to an object include routes and edges, and none of another account", async () => {
    const backend = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "a" } });
    const edge = await api.ok("POST", "/edges/https", { hostports: ["a.example.com:443"] });
    const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      description: "the shop",
      backend: { backend_id: backend.id },
    });
    const weighted = await api.ok("POST", "/backends/weighted", { backends: { [backend.id]: 1 } });
    const { references, more } = await api.ok("GET", `/references/${backend.id}`);
    const ids = references.map(({ id }: { id: string }) => id).sort((a: string, b: string) => a.localeCompare(b));
    assert.deepEqual([ids, more], [[String(route.id), String(weighted.id)].sort((a, b) => a.localeCompare(b)), false]);
    const own = references.find(({ id }: { id: string }) => id === route.id);
    assert.deepEqual([own.kind, own.uri, own.description], ["https_edge_route", route.uri, "the shop"]);
    const { api_key: key } = await api.ok("POST", "/accounts", { name: "other" });
    assert.equal((await api.request("GET", `/references/${backend.id}`, { key })).status, 404);
    assert.equal((await api.request("GET", "/references/nothing")).status, 404);
  });

  it("the addresses to register at identity providers are listed, with a separate one for each OpenID issuer", async () => {
    const base = "https://idp.t.example.com:8443";
    const oauth = await api.ok("GET", "/login_addresses");
    assert.deepEqual(oauth, {
      redirect_uri: `${base}/oauth2/callback`,
      post_logout_redirect_uri: null,
      backchannel_logout_uri: null,
      development_provider: null,
    });
    const one = await api.ok("GET", "/login_addresses?issuer=https://one.example");
    const other = await api.ok("GET", "/login_addresses?issuer=https://other.example");
    assert.ok(one.redirect_uri.startsWith(`${base}/oauth2/callback/`));
    assert.notEqual(one.redirect_uri, other.redirect_uri);
    assert.equal(one.post_logout_redirect_uri, `${base}/logged-out`);
  });
});
