import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { modulesOf, resources } from "../../src/api/operation/resource-declarations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { modules } from "../../src/modules/index.ts";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const metadata =
  '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example.com"></EntityDescriptor>';

describe("modules", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
  });
  after(() => api.stop());

  const makeRoute = async (modules: Record<string, unknown> = {}): Promise<string> => {
    const edge = await api.ok("POST", "/edges/https", {});
    const body = { match_type: "path_prefix", match: "/", ...modules };
    const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, body);
    return `/edges/https/${edge.id}/routes/${route.id}`;
  };

  it("modules are reachable on their own path wherever they can be attached, according to the list", () => {
    for (const module of modules) {
      const places = resources.filter((resource) => modulesOf(resource).some(([one]) => one === module));
      assert.deepEqual(
        places.map((resource) => resource.modulesOn as string).sort((a, b) => a.localeCompare(b)),
        [...module.on].sort((a, b) => a.localeCompare(b)),
      );
    }
  });

  it("modules show null on their owner until they are set", async () => {
    const route = await api.ok("GET", await makeRoute());
    for (const module of modules) {
      if (module.on.includes("https_route")) assert.equal(route[module.name], null, module.name);
    }
  });

  it("saml has a key and URLs that survive every change", async () => {
    const path = await makeRoute({ saml: { idp_metadata: metadata } });
    const made = (await api.ok("GET", path)).saml;
    const id = path.split("/").at(-1);
    assert.equal(made.entity_id, `https://idp.postern.test/saml/${id}`);
    assert.equal(made.metadata_url, made.entity_id);
    assert.equal(made.assertion_consumer_service_url, `${made.entity_id}/acs`);
    assert.equal(made.single_logout_url, `${made.entity_id}/slo`);
    const certificate = new X509Certificate(made.request_signing_certificate_pem);
    assert.equal(certificate.publicKey.asymmetricKeyType, "rsa");
    assert.ok(certificate.validToDate.getTime() - certificate.validFromDate.getTime() > 34 * 365 * 86_400_000);
    assert.ok(!JSON.stringify(made).includes("PRIVATE KEY"));
    const body = { idp_metadata: metadata, force_authn: true, entity_id: "https://evil.example" };
    const replaced = await api.ok("PUT", `${path}/saml`, body);
    assert.deepEqual(replaced, { ...made, force_authn: true });
    const patched = await api.ok("PATCH", path, { saml: { idp_metadata: metadata } });
    assert.deepEqual(patched.saml, made);
  });

  it("saml has URLs with the visitors' port, and keeps those that the provider knows", async () => {
    const saml = { idp_metadata: metadata };
    const before = (await api.ok("GET", await makeRoute({ saml }))).saml;
    const path = await makeRoute();
    api.edge.send({ type: "hello", edgeId: "edge_1", httpsPort: 8443 });
    try {
      const id = path.split("/").at(-1);
      const entity = `https://idp.postern.test:8443/saml/${id}`;
      const made = await api.ok("PUT", `${path}/saml`, saml);
      assert.equal(made.entity_id, entity);
      assert.equal(made.assertion_consumer_service_url, `${entity}/acs`);
      assert.equal(made.single_logout_url, `${entity}/slo`);
      api.edge.send({ type: "hello", edgeId: "edge_1", httpsPort: 443 });
      assert.equal((await api.ok("PUT", `${path}/saml`, { ...saml, force_authn: true })).entity_id, entity);
      const usual = (await api.ok("GET", await makeRoute({ saml }))).saml;
      assert.match(usual.entity_id, /^https:\/\/idp\.postern\.test\/saml\//);
      assert.match(before.entity_id, /^https:\/\/idp\.postern\.test\/saml\//);
    } finally {
      api.edge.send({ type: "hello", edgeId: "edge_1", httpsPort: 443 });
    }
  });

  it("I6: modules refuse a webhook secret that stands for no key, by every way in", async () => {
    const path = await makeRoute();
    for (const provider of ["svix", "Clerk", "brex", "microsoft_teams"]) {
      const block = { provider, secret: "x" };
      const answers = [
        await api.request("PUT", `${path}/webhook_verification`, { body: block }),
        await api.request("PATCH", path, { body: { webhook_verification: block } }),
      ];
      for (const { status, body } of answers) {
        assert.equal(status, 400, provider);
        assert.match(JSON.stringify(body.details), /secret.*must be base64/);
      }
    }
    assert.equal((await api.ok("GET", path)).webhook_verification, null);
  });

  it("I7: modules accept an http provider only if the operator allows local addresses", async () => {
    const local = { oidc: { issuer: "http://127.0.0.1:9000", client_id: "a", client_secret: "b" } };
    const named = { saml: { idp_metadata_url: "http://idp.example.com/metadata" } };
    const path = await makeRoute();
    for (const [field, body] of [
      ["oidc.issuer", local],
      ["saml.idp_metadata_url", named],
      ["oidc.issuer", { oidc: { ...local.oidc, issuer: "https://10.1.2.3" } }],
      ["saml.idp_metadata_url", { saml: { idp_metadata_url: "https://[::1]/metadata" } }],
    ] as const) {
      const refused = await api.request("PATCH", path, { body });
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.body.details[field], /--allow-local-upstreams/);
    }
    const client = { client_id: "a", client_secret: "b" };
    for (const [type, config] of [
      ["openid-connect", { issuer_url: "http://127.0.0.1:9000", ...client }],
      ["oidc", { issuer_url: "HTTP://[::1]:9000", ...client }],
      ["saml", { idp_metadata_url: "http://idp.example.com/metadata" }],
      ["openid-connect", { issuer_url: "https://127.0.0.1", ...client }],
    ] as const) {
      const value = JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] });
      const ruled = await api.request("PATCH", path, { body: { traffic_policy: { value } } });
      assert.equal(ruled.status, 400, ruled.text);
      assert.match(ruled.body.details["traffic_policy.value"], /logs in at "https?:.*--allow-local-upstreams/i);
      const traffic_policy = JSON.stringify({
        on_http_request: [{ actions: [{ type, config }] }, { actions: [{ type: "deny" }] }],
      });
      const cloud = { type: "cloud", url: "https://logins.example.com", traffic_policy };
      const endpoint = await api.request("POST", "/endpoints", { body: cloud });
      assert.equal(endpoint.status, 400, endpoint.text);
      assert.match(endpoint.body.details["traffic_policy"], /--allow-local-upstreams/);
    }
    const put = await api.request("PUT", `${path}/oidc`, { body: local.oidc });
    assert.match(put.body.details.issuer, /must be an https URL/);
    const naming = await startApi(databases[0] as (typeof databases)[number], { loginIssuer: [local.oidc.issuer] });
    try {
      const edge = await naming.ok("POST", "/edges/https", {});
      const config = { issuer_url: local.oidc.issuer, ...client };
      const value = JSON.stringify({ on_http_request: [{ actions: [{ type: "oidc", config }] }] });
      for (const [match, module] of [
        ["/a", local],
        ["/b", { traffic_policy: { value } }],
      ] as const) {
        await naming.ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match, ...module });
      }
    } finally {
      await naming.stop();
    }
    const open = await startApi(databases[0] as (typeof databases)[number], { allowLocalUpstreams: true });
    try {
      const edge = await open.ok("POST", "/edges/https", {});
      for (const [match, body] of [
        ["/a", local],
        ["/b", named],
      ] as const) {
        await open.ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match, ...body });
      }
      const config = { issuer_url: local.oidc.issuer, client_id: "a", client_secret: "b" };
      const value = JSON.stringify({ on_http_request: [{ actions: [{ type: "oidc", config }] }] });
      const ruled = { match_type: "path_prefix", match: "/d", traffic_policy: { value } };
      await open.ok("POST", `/edges/https/${edge.id}/routes`, ruled);
      const outside = { ...local.oidc, issuer: "http://8.8.8.8/" };
      const body = { match_type: "path_prefix", match: "/c", oidc: outside };
      assert.equal((await open.request("POST", `/edges/https/${edge.id}/routes`, { body })).status, 400);
    } finally {
      await open.stop();
    }
  });

  it("modules allow replacing one login by another in one step, but not two logins", async () => {
    const path = await makeRoute({ saml: { idp_metadata: metadata } });
    const oidc = { issuer: "https://issuer.example.com", client_id: "a", client_secret: "b" };
    const both = await api.request("PATCH", path, { body: { oidc } });
    assert.deepEqual([both.status, both.body.error_code], [400, errorCode("login_exclusive")]);
    const swapped = await api.ok("PATCH", path, { saml: null, oidc });
    assert.deepEqual([swapped.saml, swapped.oidc.issuer], [null, oidc.issuer]);
  });

  it("K3: modules that need the handshake are refused where TLS is passed through", async () => {
    const { certificatePem } = await createAuthority({ commonName: "Clients", now: Date.now() });
    const authority = await api.ok("POST", "/certificate_authorities", { ca_pem: certificatePem });
    const edge = await api.ok("POST", "/edges/tls", { tls_termination: { terminate_at: "upstream" } });
    assert.equal(edge.tls_termination.min_version, null);
    const minimum = { terminate_at: "upstream", min_version: "1.3" };
    const refused = await api.request("PUT", `/edges/tls/${edge.id}/tls_termination`, { body: minimum });
    assert.equal(refused.status, 400);
    assert.ok("min_version" in refused.body.details, refused.text);
    for (const terminate_at of ["upstream", "agent"]) {
      const through = await api.ok("POST", "/edges/tls", { tls_termination: { terminate_at } });
      const client = await api.request("PUT", `/edges/tls/${through.id}/mutual_tls`, {
        body: { certificate_authority_ids: [authority.id] },
      });
      assert.deepEqual(
        [client.status, client.body.error_code],
        [400, errorCode("module_needs_termination")],
        terminate_at,
      );
    }
    const https = await api.ok("POST", "/edges/https", { tls_termination: {} });
    assert.equal(https.tls_termination.terminate_at, "edge");
    const upstream = { terminate_at: "upstream" };
    const wrong = await api.request("PUT", `/edges/https/${https.id}/tls_termination`, { body: upstream });
    assert.equal(wrong.status, 400);
  });

  it("a TLS edge's policy may end TLS only where no module demands anything of the handshake", async () => {
    const value = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: "terminate-tls" }] }] });
    const traffic_policy = { value };
    const { certificatePem } = await createAuthority({ commonName: "Clients", now: Date.now() });
    const ca = await api.ok("POST", "/certificate_authorities", { ca_pem: certificatePem });
    for (const blocks of [
      { tls_termination: { min_version: "1.3" } },
      { mutual_tls: { certificate_authority_ids: [ca.id] } },
    ]) {
      const refused = await api.request("POST", "/edges/tls", { body: { ...blocks, traffic_policy } });
      assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("policy_action_protocol")]);
      assert.match(refused.body.msg, /terminate-tls while/);
    }
    for (const terminate_at of ["edge", "upstream"]) {
      await api.ok("POST", "/edges/tls", { tls_termination: { terminate_at }, traffic_policy });
    }
  });
});
