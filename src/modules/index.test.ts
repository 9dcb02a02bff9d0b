/** Compares the declarations of modules with their behaviour. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf } from "../../test/support/exchange.ts";
import type { ExchangeInit } from "../../test/support/exchange.ts";
import { putSession, testLogins } from "../../test/support/logins.ts";
import { httpsSite, tableOf, tlsSite } from "../../test/support/routing.ts";
import { derOf, idpEntityId, makeProviderKeys, metadataXml, persistent } from "../../test/support/saml-idp.ts";
import { makeSamlLogins } from "../identity/saml-login/saml-logins.ts";
import { silentLog } from "../lib/log.ts";
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import { createAuthority, issueLeaf } from "../lib/certificates/x509.ts";
import type { CompiledRoute, ConnectionSite, Site } from "../routing/sites/compiled-site.ts";
import type { ResourceObject, ModulePlace } from "../schema/object.ts";
import { signSample } from "../webhooks/webhook-verification.ts";
import { modulesWith } from "./index.ts";
import type { Handshake } from "../traffic/handshake.ts";
import type { ModulePhase, Power } from "../traffic/module.ts";
import type { Step } from "../traffic/step.ts";

interface Case {
  readonly on: ModulePlace;
  readonly config: object;
  readonly exchanges?: readonly ExchangeInit[];
}

const clock = makeManualClock();
const now = clock.now();
const logins = testLogins(clock);
const saml = makeSamlLogins({ clock, log: silentLog, placeOf: () => undefined, failed: () => {} });
let stored = 0;
const modules = modulesWith(defaultsOf(webhookSettings), {
  logins,
  saml,
  policies: { internalEndpoint: () => true },
  // Has space for one webhook.
  inbox: { put: async () => (stored++ === 0 ? "stored" : "full") },
});
after(async () => {
  logins.close();
  await saml.close();
});
const client = { client_id: "c", client_secret: "s", scopes: [] };
const noLists = { email_addresses: [], email_domains: [] };
const loginConfig = {
  options_passthrough: false,
  cookie_prefix: "service.",
  inactivity_timeout: 0,
  maximum_duration: 0,
  auth_check_interval: 0,
};
const sessionAt = (kind: string, provider: string, clientId = "c") =>
  putSession(
    logins,
    clock,
    { siteId: "edge", kind, provider, clientId, cookiePrefix: "service." },
    { providerUrl: { oidc: provider, saml: idpEntityId }[kind] ?? "https://github.com" },
  );
const authority = await createAuthority({ commonName: "Clients", now });
const signing = await makeProviderKeys();
const leaf = await issueLeaf(authority, { names: ["a.example"], now, days: 1, usages: ["clientAuth"] });
const clientCertificate = new X509Certificate(leaf.certificatePem).raw;
const tls = { serverName: "h", version: "TLSv1.3", cipher: "x", clientCertificate };

const objects: readonly Pick<ResourceObject, "kind" | "id" | "doc">[] = [
  { kind: "certificate_authority", id: "ca_1", doc: { ca_pem: authority.certificatePem } },
  { kind: "ip_policy", id: "ipp_1", doc: {} },
  { kind: "ip_policy_rule", id: "ipr_1", doc: { ip_policy_id: "ipp_1", cidr: "192.0.2.0/24", action: "allow" } },
  { kind: "tunnel_group_backend", id: "bkdtg_1", doc: { labels: { app: "web" } } },
];

const body = Buffer.from('{"event":"endpoint.url_validation","payload":{"plainToken":"t"}}');
const webhook = signSample("zoom", {
  secret: "s",
  body,
  url: "https://app.example.com/",
  now,
});
const validation = { method: "POST", headers: webhook.headers, body };
const upgrade = {
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const text = { headers: { "accept-encoding": "gzip" }, response: { headers: { "content-type": "text/plain" } } };

/** Configurations of each module that exercise everything it may do. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  tls_termination: [
    { on: "https_edge", config: { terminate_at: "edge", min_version: "1.3" } },
    { on: "tls_edge", config: { terminate_at: "edge", min_version: "1.3" } },
    { on: "tls_edge", config: { terminate_at: "upstream", min_version: null } },
  ],
  mutual_tls: [
    {
      on: "https_edge",
      config: { certificate_authority_ids: ["ca_1"] },
      exchanges: [{}, { connection: { tls } }],
    },
    { on: "tls_edge", config: { certificate_authority_ids: ["ca_1"] } },
  ],
  ip_restriction: (["https_route", "tls_edge", "tcp_edge"] as const).map((on) => ({
    on,
    config: { ip_policy_ids: ["ipp_1"] },
    exchanges: [{}, { connection: { source: "198.51.100.1" } }],
  })),
  country_restriction: (["https_route", "tls_edge", "tcp_edge"] as const).map((on) => ({
    on,
    config: { allow: ["DE"], deny: [] },
    exchanges: [{}],
  })),
  user_agent_filter: [
    { on: "https_route", config: { allow: [], deny: ["curl"] }, exchanges: [{ headers: { "user-agent": "curl/8" } }] },
  ],
  webhook_verification: [
    { on: "https_route", config: { provider: "zoom", secret: "s" }, exchanges: [{ method: "POST" }, validation] },
  ],
  inbox: [
    {
      on: "https_route",
      config: {
        dedupe: "",
        order_by: "",
        methods: ["POST"],
        respond_status: 202,
        respond_body: "",
        respond_content_type: "",
      },
      exchanges: [{}, { method: "POST", body }, { method: "POST", body }],
    },
  ],
  oauth: [
    {
      on: "https_route",
      config: { ...loginConfig, provider: { github: { ...client, ...noLists, teams: [], organizations: [] } } },
      exchanges: [{}, { loginCookies: sessionAt("oauth", "github") }, { headers: { accept: "application/json" } }],
    },
  ],
  oidc: [
    {
      on: "https_route",
      config: { ...loginConfig, ...client, ...noLists, issuer: "https://192.0.2.1" },
      exchanges: [
        {},
        { headers: { "sec-fetch-mode": "cors" } },
        { loginCookies: sessionAt("oidc", "https://192.0.2.1") },
        { method: "OPTIONS" },
      ],
    },
  ],
  saml: [
    {
      on: "https_route",
      config: {
        ...loginConfig,
        authorized_groups: [],
        idp_metadata: metadataXml({
          certificates: [derOf(signing.certificatePem)],
          redirect: "https://id.example/sso",
        }),
        entity_id: "https://idp.example.com/saml/route",
        assertion_consumer_service_url: "https://idp.example.com/saml/route/acs",
        nameid_format: persistent,
        request_signing_key_pem: signing.keyPem,
      },
      exchanges: [
        { headers: { "sec-fetch-mode": "cors" } },
        { loginCookies: sessionAt("saml", "route", "https://idp.example.com/saml/route") },
        { headers: { accept: "text/html" } },
      ],
    },
  ],
  traffic_policy: [
    {
      on: "https_route",
      config: {
        value: JSON.stringify({
          on_http_request: [
            { actions: [{ type: "add-headers", config: { headers: { "x-b": "1" } } }] },
            { expressions: ["req.method == 'POST'"], actions: [{ type: "custom-response" }] },
            { expressions: ["req.method == 'PUT'"], actions: [{ type: "deny" }] },
            {
              expressions: ["req.method == 'PATCH'"],
              actions: [{ type: "forward-internal", config: { url: "https://a.internal" } }],
            },
          ],
          on_http_response: [
            { actions: [{ type: "add-headers", config: { headers: { "x-c": "1" } } }] },
            { expressions: ["req.method == 'HEAD'"], actions: [{ type: "custom-response" }] },
          ],
        }),
      },
      exchanges: [text, { ...text, method: "HEAD" }, ...["POST", "PUT", "PATCH"].map((method) => ({ method }))],
    },
    ...(["tls_edge", "tcp_edge"] as const).map((on) => ({
      on,
      config: { value: "on_tcp_connect: [{actions: [{type: deny}]}]" },
      exchanges: [{}],
    })),
  ],
  circuit_breaker: [
    {
      on: "https_route",
      config: {
        tripped_duration: 10,
        rolling_window: 10,
        num_buckets: 1,
        volume_threshold: 1,
        error_threshold_percentage: 0.5,
      },
      exchanges: [{}, {}],
    },
  ],
  websocket_tcp_converter: [{ on: "https_route", config: {}, exchanges: [{}, { headers: upgrade }] }],
  request_headers: [{ on: "https_route", config: { remove: [], add: { "x-a": "1" } }, exchanges: [text] }],
  forwarding: [
    { on: "https_route", config: { response_timeout: 5, encoded_slashes: false } },
    { on: "https_route", config: { response_timeout: 0, encoded_slashes: true } },
  ],
  mcp: [
    {
      on: "https_route",
      config: {},
      exchanges: [
        {
          headers: [["mcp-session-id", "abcdefghijkl.1"]],
          response: { headers: [["content-type", "text/event-stream"]] },
        },
      ],
    },
  ],
  backend: (["https_route", "tls_edge", "tcp_edge"] as const).map((on) => ({
    on,
    config: { backend_id: "bkdtg_1" },
    exchanges: [{}],
  })),
  compression: [{ on: "https_route", config: {}, exchanges: [text] }],
  response_headers: [{ on: "https_route", config: { remove: [], add: { "x-a": "1" } }, exchanges: [text] }],
};

type Seen = (phase: ModulePhase, power: Power) => void;

/** Compiles an owner of the module with a real routing table. */
function compiled(name: string, { on, config }: Case): { site: Site | ConnectionSite; route?: CompiledRoute } {
  const { table, put } = tableOf(clock, modules);
  for (const object of objects) put(object);
  const block = { [name]: { enabled: true, ...config } };
  if (on === "tls_edge" || on === "tcp_edge") {
    put({ kind: on, id: "edge", doc: { hostports: ["h:443"], ...block } });
    const site = on === "tls_edge" ? tlsSite(table, "h") : [...table.tcpSites()][0];
    assert.ok(site);
    return { site };
  }
  put({ kind: "https_edge", id: "edge", doc: { hostports: ["h:443"], ...(on === "https_edge" && block) } });
  const route = { edge_id: "edge", match_type: "path_prefix", match: "/" };
  put({ kind: "https_edge_route", id: "route", doc: { ...route, ...(on === "https_route" && block) } });
  const site = httpsSite(table, "h");
  const found = site?.findRoute("/", "h");
  assert.ok(site && found);
  return { site, route: found };
}

function watchHandshake({ minVersion, clientAuthorities }: Handshake, seen: Seen): void {
  if (minVersion !== undefined || clientAuthorities !== undefined) seen("handshake", "refuse");
}

function watchStep(phase: ModulePhase, { answer, outcome, forwardTo }: Step, seen: Seen): void {
  if (forwardTo !== undefined) seen(phase, "choose the upstream");
  if (answer) seen(phase, "error" in answer || outcome === "denied" ? "refuse" : "answer");
}

function setsLimits({ responseTimeoutMs, allowsEncodedSlashes }: CompiledRoute): boolean {
  return responseTimeoutMs !== undefined || allowsEncodedSlashes === true;
}

async function watchRoute(route: CompiledRoute, { exchanges = [] }: Case, seen: Seen): Promise<void> {
  if (route.upstream) seen("request", "choose the upstream");
  if (route.converter) seen("request", "answer");
  if (setsLimits(route)) seen("request", "set limits");
  for (const init of exchanges) {
    const exchange = exchangeOf(init);
    const asReceived = JSON.stringify(exchange.request.headers.entries());
    for (const module of route.request) watchStep("request", (await module.request?.(exchange)) as Step, seen);
    const { headers } = exchange.request;
    if (JSON.stringify(headers.entries()) !== asReceived) seen("request", "change the request");
    const sent = JSON.stringify(exchange.response?.headers.entries());
    for (const module of route.response) watchStep("response", (await module.response?.(exchange)) as Step, seen);
    const isChanged = JSON.stringify(exchange.response?.headers.entries()) !== sent || exchange.transforms.length > 0;
    if (isChanged) seen("response", "change the response");
    for (const module of route.settled) module.settled?.(exchange, 500);
  }
}

async function watchConnection(site: ConnectionSite, { exchanges = [] }: Case, seen: Seen): Promise<void> {
  if (site.upstream) seen("connection", "choose the upstream");
  for (const { connection } of exchanges) {
    for (const module of site.connection) {
      if (module.connection) watchStep("connection", module.connection(connection?.source ?? "192.0.2.1"), seen);
      const opened = await module.opened?.({ facts: { ...exchangeOf().connection, ...connection } });
      if (opened?.closes) seen("connection", "refuse");
    }
  }
}

describe("modules", () => {
  for (const { name, on, acts } of modules) {
    it(`modules: ${name} does exactly what it declares, on every object that can have it`, async () => {
      const all = cases[name] ?? [];
      assert.deepEqual(new Set(all.map((one) => one.on)), new Set(on));
      const found = new Set<string>();
      const hooks = new Set<string>();
      const seen: Seen = (phase, power) => void found.add(`${phase}: ${power}`);
      let broken = 0;
      for (const one of all) {
        const { site, route } = compiled(name, one);
        if (route?.problem ?? site.problem) {
          broken += 1;
          continue;
        }
        watchHandshake(site.handshake, seen);
        if (Object.keys(site.handshake).length > 0) hooks.add("handshake");
        if (route) {
          await watchRoute(route, one, seen);
          if (route.request.length > 0 || route.upstream || setsLimits(route)) hooks.add("request");
          if (route.response.length > 0) hooks.add("response");
        } else if ("connection" in site) {
          await watchConnection(site, one, seen);
          if (site.connection.length > 0 || site.upstream) hooks.add("connection");
        }
      }
      assert.deepEqual(hooks, new Set(Object.keys(acts)));
      assert.deepEqual(
        found,
        new Set(Object.entries(acts).flatMap(([phase, powers]) => powers.map((power) => `${phase}: ${power}`))),
      );
      // A module that cannot be enforced closes its owner (R6).
      assert.equal(broken, hooks.size === 0 ? all.length : 0);
    });
  }
});
