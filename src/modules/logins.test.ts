import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { httpsSite, tableOf } from "../../test/support/routing.ts";
import { checkRules } from "../schema/issues.ts";
import { parseFields } from "../schema/parse-fields.ts";
import type { Issue } from "../schema/fields.ts";
import { modules } from "./index.ts";

function issues(name: string, body: Record<string, unknown>): string[] {
  const module = modules.find((one) => one.name === name);
  assert.ok(module);
  const { doc, issues: found } = parseFields(module.fields, body, "replace");
  const all: Issue[] = [...found];
  if (found.length === 0) {
    const rules = (module.rules ?? []).map((rule) => (config: never) => rule(config, "https_route"));
    checkRules(rules, doc, "", all);
  }
  return all.map(({ path }) => path);
}

const github = (change: object = {}) => ({ provider: { github: { client_id: "i", client_secret: "s", ...change } } });

describe("login modules", () => {
  it("R6: a route with a module that cannot be enforced is closed", () => {
    const set = tableOf();
    set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
    for (const name of ["oauth", "oidc", "saml"]) {
      const doc = { edge_id: "e", match_type: "path_prefix", match: "/", [name]: { enabled: true } };
      assert.equal(set.put({ kind: "https_edge_route", id: "r", doc })[0]?.module, name);
      const route = httpsSite(set.table, "h")?.findRoute("/", "h");
      assert.match(route?.problem?.message ?? "", new RegExp(`^enforce ${name}: this server has no support`));
      set.put({ kind: "https_edge_route", id: "r", doc: { ...doc, [name]: { enabled: false } } });
      assert.equal(httpsSite(set.table, "h")?.findRoute("/", "h")?.problem, undefined);
    }
  });

  it("R6: a route is closed with an error if its stored policy names a provider without TLS", () => {
    const set = tableOf();
    set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
    for (const [type, config] of [
      ["saml", { idp_metadata_url: "http://8.8.8.8/metadata" }],
      ["openid-connect", { issuer_url: "http://8.8.8.8", client_id: "c", client_secret: "s" }],
    ] as const) {
      const value = JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] });
      const traffic_policy = { enabled: true, value };
      const doc = { edge_id: "e", match_type: "path_prefix", match: "/", traffic_policy };
      const [problem] = set.put({ kind: "https_edge_route", id: "r", doc });
      assert.match(problem?.message ?? "", /be an https URL/, type);
      assert.equal(httpsSite(set.table, "h")?.findRoute("/", "h")?.problem?.message, problem?.message);
    }
  });

  it("oauth requires exactly one provider, client id and secret together, and scopes only with them", () => {
    assert.deepEqual(issues("oauth", github()), []);
    assert.deepEqual(issues("oauth", { provider: { google: {} } }), []);
    assert.deepEqual(issues("oauth", { provider: {} }), ["provider"]);
    assert.deepEqual(issues("oauth", { provider: { google: {}, gitlab: {} } }), ["provider"]);
    assert.deepEqual(issues("oauth", github({ client_secret: "" })), ["provider.github.client_secret"]);
    assert.deepEqual(issues("oauth", github({ client_id: "" })), ["provider.github.client_id"]);
    assert.deepEqual(issues("oauth", { provider: { google: { scopes: ["a"] } } }), ["provider.google.scopes"]);
    for (const name of "amazon facebook github gitlab google linkedin microsoft twitch".split(" ")) {
      assert.deepEqual(issues("oauth", { provider: { [name]: {} } }), [], name);
    }
  });

  it("oauth checks lists: lower case, valid, no duplicates, and their required scopes", () => {
    const at = (list: string, value: unknown) => issues("oauth", github({ [list]: value }));
    assert.deepEqual(at("email_addresses", ["a@example.com"]), []);
    for (const wrong of ["A@example.com", "a", "@example.com", "a@", "a b@example.com", "a@exa_mple.com"]) {
      assert.equal(at("email_addresses", [wrong]).length, 1, wrong);
    }
    for (const wrong of ["Example.com", "*.example.com", "@example.com", "exa mple.com"]) {
      assert.equal(at("email_domains", [wrong]).length, 1, wrong);
    }
    assert.equal(at("email_domains", ["a.com", "a.com"]).length, 1);
    assert.deepEqual(at("teams", ["acme/eng", "123"]), []);
    assert.equal(at("teams", ["eng"]).length, 1);
    assert.deepEqual(issues("oauth", github({ scopes: ["repo"], teams: ["a/b"] })), ["provider.github.scopes"]);
    assert.deepEqual(issues("oauth", github({ scopes: ["read:org"], teams: ["a/b"] })), []);
    assert.deepEqual(issues("oauth", github({ scopes: ["read:org"], email_domains: ["a.com"] })), [
      "provider.github.scopes",
    ]);
  });

  it("logins require a plain cookie prefix, and any uint32 as timeout", () => {
    assert.equal(issues("oauth", { ...github(), cookie_prefix: "a;b" }).length, 1);
    for (const name of ["inactivity_timeout", "maximum_duration", "auth_check_interval"]) {
      for (const seconds of [0, 31_536_001, 4_294_967_295]) {
        assert.deepEqual(issues("oauth", { ...github(), [name]: seconds }), [], `${name} ${seconds}`);
      }
      assert.deepEqual(issues("oauth", { ...github(), [name]: 4_294_967_296 }), [name]);
    }
    const { doc } = parseFields(modules.find(({ name }) => name === "oauth")?.fields ?? {}, github(), "replace");
    assert.equal(doc["cookie_prefix"], "service.");
  });

  it("oidc requires issuer, client id and secret, and an https issuer", () => {
    const client = { client_id: "i", client_secret: "s" };
    assert.deepEqual(issues("oidc", {}).sort(), ["client_id", "client_secret", "issuer"]);
    assert.deepEqual(issues("oidc", { ...client, issuer: "https://login.example.com/x" }), []);
    assert.deepEqual(issues("oidc", { ...client, issuer: "http://localhost:8080" }), []);
    assert.deepEqual(issues("oidc", { ...client, issuer: "http://10.1.2.3:8080/realm" }), []);
    for (const wrong of [
      "login.example.com",
      "http://8.8.8.8/",
      "http://[2606:4700::1]/",
      "https://u:p@h",
      "ftp://h",
      "https://h/#x",
    ]) {
      assert.deepEqual(issues("oidc", { ...client, issuer: wrong }), ["issuer"], wrong);
    }
  });

  it("saml requires metadata without a DOCTYPE, or its address", () => {
    assert.deepEqual(issues("saml", {}), ["idp_metadata"]);
    assert.deepEqual(issues("saml", { idp_metadata_url: "https://idp.example/metadata" }), []);
    assert.deepEqual(issues("saml", { idp_metadata: '<md:EntityDescriptor entityID="x"/>' }), []);
    assert.deepEqual(issues("saml", { idp_metadata: "<x/>" }), ["idp_metadata"]);
    assert.deepEqual(issues("saml", { idp_metadata: '<!DOCTYPE x><EntityDescriptor entityID="x"/>' }), [
      "idp_metadata",
    ]);
    assert.deepEqual(issues("saml", { idp_metadata: "<EntityDescriptor >", nameid_format: "x" }), ["nameid_format"]);
  });

  it("D8: a traffic policy is an object in JSON or YAML that does not expand excessively", () => {
    assert.deepEqual(issues("traffic_policy", { value: '{"on_http_request":[]}' }), []);
    assert.deepEqual(issues("traffic_policy", { value: "on_http_request:\n  - actions: [{type: deny}]\n" }), []);
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
      .split("")
      .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[at]}`).join()}]`)
      .join("\n")}`;
    for (const wrong of ["", "[]", "text", "{", "a: [", "a: 1\na: 2", bomb]) {
      assert.deepEqual(issues("traffic_policy", { value: wrong }), ["value"], wrong);
    }
  });
});
