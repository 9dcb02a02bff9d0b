/**
 * Changes with a known effect, for every module and every action: a backtest of recorded traffic counts exactly what
 * happens when the change is applied and the same traffic is sent again.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { stringify } from "yaml";
import type { CapturedRequest } from "../../src/capture/captured-request.ts";
import { modules } from "../../src/modules/index.ts";
import { actions } from "../../src/policy/actions/index.ts";
import type { Doc } from "../../src/schema/doc.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { startBusyEdge, host } from "../support/busy-edge.ts";
import type { BusyEdge } from "../support/busy-edge.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import type { AskOptions, Protocol } from "../support/http-client.ts";
import { ipRestriction } from "../support/objects.ts";
import { backtestOf, recordTraffic } from "../support/recorded-traffic.ts";
import { metadataXml } from "../support/saml-idp.ts";

type Change = Pick<ResourceObject, "kind" | "id"> & { readonly doc: Doc | null };
type Probe = Partial<AskOptions>;

interface Effect {
  /** The module or action that the change concerns. */
  readonly of: string;
  readonly name: string;
  /** Configuration of the probed route before the change, besides its backend. */
  readonly from?: Doc;
  readonly to?: Doc;
  /** Instead of another configuration of the probed route. */
  readonly changes?: () => readonly Change[];
  /** Sent over each version of HTTP, in this order. */
  readonly probes: readonly Probe[];
  /** Requests whose result the record does not show, over both versions. */
  readonly unknown?: number;
  /** Module of the first cause. Default: `of`; `traffic_policy` for actions. */
  readonly module?: string;
}

interface Seen {
  readonly record: CapturedRequest | undefined;
  /** What the visitor and the service saw. */
  readonly text: string;
}

const routeId = "edghtsrt_edghts_1_probe";
const path = "/probe?echo";
const plain: Probe = { path };
const post: Probe = { path, method: "POST", body: "one and one" };
const other: Probe = { path: "/probe/other?echo" };
const gzip: Probe = { path: "/probe?size=30000", headers: { "accept-encoding": "gzip" } };
const failing: Probe = { path: "/probe?status=500" };

function rule(action: Doc, expressions: readonly string[] = []): Doc {
  return policyOf({ on_http_request: [{ expressions, actions: [action] }] });
}

function answerRule(action: Doc): Doc {
  return policyOf({ on_http_response: [{ actions: [action] }] });
}

function policyOf(policy: Doc): Doc {
  return { traffic_policy: { enabled: true, value: stringify(policy) } };
}

const isOther = ["req.url.path == '/probe/other'"];
const breaker = {
  enabled: true,
  tripped_duration: 60,
  rolling_window: 60,
  num_buckets: 10,
  volume_threshold: 2,
  error_threshold_percentage: 0.5,
};
const times = { inactivity_timeout: 0, maximum_duration: 0, auth_check_interval: 0 };
const login = { enabled: true, options_passthrough: false, cookie_prefix: "s.", ...times };
const github = {
  client_id: "c",
  client_secret: "s",
  scopes: [],
  email_addresses: [],
  email_domains: [],
  organizations: [],
  teams: [],
};
const oauth = { oauth: { ...login, provider: { github } } };
const oidc = { oidc: { ...login, issuer: "https://127.0.0.1:1", client_id: "c", client_secret: "s", scopes: [] } };
const metadata = metadataXml({
  certificates: [],
  redirect: "https://idp.example/sso",
  logout: "https://idp.example/slo",
});
const webhook = (secret: string): Doc => ({ webhook_verification: { enabled: true, provider: "slack", secret } });
const jwt = {
  type: "jwt-validation",
  config: {
    issuer: { allow_list: [{ value: "https://issuer.example.com" }] },
    http: { tokens: [{ type: "jwt", method: "header", name: "Authorization", prefix: "Bearer " }] },
    jws: {
      allowed_algorithms: ["RS256"],
      keys: { sources: { additional_jkus: ["https://issuer.example.com/keys"] } },
    },
  },
};
const limit = (capacity: number): Doc =>
  rule({
    type: "rate-limit",
    config: { name: "few", algorithm: "sliding_window", capacity, rate: "60s", bucket_key: ["conn.client_ip"] },
  });
const hooked: Probe = { ...post, headers: { "x-slack-signature": "v0=00", "x-slack-request-timestamp": "1" } };
const basic: Probe = { path, headers: { authorization: "Basic YWRhOnBhc3N3b3JkLW9mLWFkYQ==" } };
const agentOnly = { user_agent_filter: { enabled: true, allow: [], deny: ["curl.*"] } };
const curl: Probe = { path, headers: { "user-agent": "curl/8" } };

const effects: readonly Effect[] = [
  {
    of: "country_restriction",
    name: "countries, which do not include those of private addresses",
    to: { country_restriction: { enabled: true, allow: ["DE"], deny: [] } },
    probes: [plain],
  },
  {
    of: "country_restriction",
    name: "no countries any more",
    from: { country_restriction: { enabled: true, allow: ["DE"], deny: [] } },
    to: {},
    probes: [plain],
  },
  {
    of: "ip_restriction",
    name: "an IP policy",
    to: { ip_restriction: ipRestriction("ipp_none") },
    probes: [plain, other],
  },
  {
    of: "ip_restriction",
    name: "an IP policy that denies what it allowed",
    from: { ip_restriction: ipRestriction("ipp_1") },
    changes: () => [
      {
        kind: "ip_policy_rule",
        id: "ipr_ipp_1_0",
        doc: { ip_policy_id: "ipp_1", cidr: "127.0.0.0/8", action: "deny" },
      },
    ],
    probes: [plain, other],
  },
  { of: "user_agent_filter", name: "a filter for a user agent", to: agentOnly, probes: [plain, curl] },
  { of: "user_agent_filter", name: "a route without its filter", from: agentOnly, probes: [plain, curl] },
  { of: "oauth", name: "a login for a public route", to: oauth, probes: [plain, post] },
  { of: "oauth", name: "a route without its login", from: oauth, probes: [plain] },
  { of: "oidc", name: "an OpenID Connect login for a public route", to: oidc, probes: [plain] },
  { of: "oidc", name: "a route without its OpenID Connect login", from: oidc, probes: [plain] },
  {
    of: "saml",
    name: "a SAML login for a public route",
    to: {
      saml: {
        ...login,
        idp_metadata: metadata,
        idp_metadata_url: "",
        force_authn: false,
        allow_idp_initiated: false,
        authorized_groups: [],
        nameid_format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
        entity_id: "https://idp.apps.example.com/saml/probe",
        assertion_consumer_service_url: "https://idp.apps.example.com/saml/probe/acs",
        single_logout_url: "https://idp.apps.example.com/saml/probe/slo",
        metadata_url: "https://idp.apps.example.com/saml/probe",
        request_signing_certificate_pem: "",
      },
    },
    probes: [plain],
  },
  { of: "webhook_verification", name: "a verification of webhooks", to: webhook("secret"), probes: [post, hooked] },
  { of: "webhook_verification", name: "a route without verification", from: webhook("secret"), probes: [hooked] },
  {
    of: "circuit_breaker",
    name: "a circuit breaker that trips",
    to: { circuit_breaker: breaker },
    probes: [failing, failing, failing, plain],
  },
  { of: "compression", name: "compression", to: { compression: { enabled: true } }, probes: [gzip, plain] },
  {
    of: "request_headers",
    name: "another request header",
    to: { request_headers: { enabled: true, add: { "x-added": "2" }, remove: [] } },
    probes: [plain, post],
  },
  {
    of: "response_headers",
    name: "another response header",
    to: { response_headers: { enabled: true, add: { "x-added": "2" }, remove: [] } },
    probes: [plain, post],
  },
  {
    of: "websocket_tcp_converter",
    name: "a converter of WebSockets",
    to: { websocket_tcp_converter: { enabled: true } },
    probes: [plain, post],
  },
  {
    of: "backend",
    name: "another backend",
    to: { backend: { enabled: true, backend_id: "bkdhr_1" } },
    probes: [plain, other],
  },
  {
    of: "backend",
    name: "another fixed response",
    from: { backend: { enabled: true, backend_id: "bkdhr_1" } },
    changes: () => [{ kind: "http_response_backend", id: "bkdhr_1", doc: { status_code: 200, headers: {}, body: "" } }],
    probes: [plain, other],
  },
  {
    of: "backend",
    name: "a removed route",
    changes: () => [{ kind: "https_edge_route", id: routeId, doc: null }],
    probes: [plain, other],
    module: "router",
  },
  {
    of: "mutual_tls",
    name: "another authority of client certificates",
    changes: () => [{ kind: "certificate_authority", id: "ca_1", doc: { ca_pem: strangerPem } }],
    probes: [{ host: "mutual.example.com", path: "/?echo" }],
    module: "tls",
  },
  {
    of: "deny",
    name: "a rule that denies",
    to: rule({ type: "deny", config: { status_code: 404 } }, isOther),
    probes: [plain, other],
  },
  { of: "deny", name: "a rule that no longer denies", from: rule({ type: "deny" }, isOther), probes: [plain, other] },
  {
    of: "restrict-ips",
    name: "addresses that a rule does not allow",
    to: rule({ type: "restrict-ips", config: { enforce: true, allow: ["192.0.2.0/24"] } }),
    probes: [plain, other],
  },
  {
    of: "rate-limit",
    name: "a rate limit that half of the requests exceed",
    to: limit(4),
    probes: [plain, other, plain, other],
  },
  { of: "rate-limit", name: "a higher rate limit", from: limit(2), to: limit(5), probes: [plain, other, plain, other] },
  {
    of: "redirect",
    name: "a rule that redirects",
    to: rule({ type: "redirect", config: { to: "/" } }, isOther),
    probes: [plain, other],
  },
  {
    of: "custom-response",
    name: "a rule that answers",
    to: rule({ type: "custom-response", config: { status_code: 503, body: "closed" } }),
    probes: [plain, post],
  },
  {
    of: "basic-auth",
    name: "a password for everything",
    to: rule({ type: "basic-auth", config: { credentials: ["ada:another-password"] } }),
    probes: [plain, post],
  },
  {
    of: "basic-auth",
    name: "another password, which nobody can know from hashes",
    from: rule({ type: "basic-auth", config: { credentials: ["ada:password-of-ada"] } }),
    to: rule({ type: "basic-auth", config: { credentials: ["ada:another-password"] } }),
    probes: [basic, plain],
    unknown: 2,
  },
  { of: "jwt-validation", name: "a rule that demands a token", to: rule(jwt), probes: [plain, post] },
  { of: "jwt-validation", name: "a rule without its token", from: rule(jwt), probes: [plain, post] },
  {
    of: "verify-webhook",
    name: "a rule that verifies webhooks",
    to: rule({ type: "verify-webhook", config: { provider: "slack", secret: "secret" } }),
    probes: [post, hooked],
  },
  {
    of: "oauth",
    name: "a rule with a login",
    to: rule({ type: "oauth", config: { provider: "github", client_id: "c", client_secret: "s" } }),
    probes: [plain],
  },
  {
    of: "openid-connect",
    name: "a rule with an OpenID Connect login",
    to: rule({
      type: "openid-connect",
      config: { issuer_url: "https://127.0.0.1:1", client_id: "c", client_secret: "s" },
    }),
    probes: [plain],
    module: "oidc",
  },
  {
    of: "add-headers",
    name: "a rule that adds a field",
    to: rule({ type: "add-headers", config: { headers: { "x-rule": "1" } } }),
    probes: [plain, post],
  },
  {
    of: "add-headers",
    name: "a rule that adds a field to responses",
    to: answerRule({ type: "add-headers", config: { headers: { "x-rule": "${res.status_code}" } } }),
    probes: [plain, failing],
  },
  {
    of: "remove-headers",
    name: "a rule that removes a field",
    to: rule({ type: "remove-headers", config: { headers: ["x-some"] } }),
    probes: [plain, { path, headers: { "x-some": "1" } }],
  },
  {
    of: "set-vars",
    name: "a rule that denies by a variable",
    to: policyOf({
      on_http_request: [
        { actions: [{ type: "set-vars", config: { vars: [{ part: "${req.url.path}" }] } }] },
        { expressions: ["vars.part == '/probe/other'"], actions: [{ type: "deny" }] },
      ],
    }),
    probes: [plain, other],
  },
  {
    of: "url-rewrite",
    name: "a rule that rewrites URLs",
    to: rule({ type: "url-rewrite", config: { from: "/probe/other", to: "/probe/new" } }),
    probes: [plain, other],
  },
  {
    of: "request-body-find-replace",
    name: "a rule that changes bodies",
    to: rule({ type: "request-body-find-replace", config: { replacements: [{ from: "one", to: "two" }] } }),
    probes: [post, plain, { ...post, body: "three" }],
  },
  {
    of: "response-body-find-replace",
    name: "a rule that changes bodies of responses, which are not captured",
    to: answerRule({ type: "response-body-find-replace", config: { replacements: [{ from: "one", to: "two" }] } }),
    probes: [post],
    unknown: 2,
  },
  {
    of: "compress-response",
    name: "a rule that compresses",
    to: answerRule({ type: "compress-response", config: { algorithms: ["gzip"] } }),
    probes: [gzip, plain],
  },
  {
    of: "circuit-breaker",
    name: "a rule with a circuit breaker that trips",
    to: rule({
      type: "circuit-breaker",
      config: { volume_threshold: 2, error_threshold: 0.5, window_duration: "60s", tripped_duration: "60s" },
    }),
    probes: [failing, failing, failing, plain],
  },
  {
    of: "forward-internal",
    name: "a rule that forwards to an internal endpoint",
    to: rule({ type: "forward-internal", config: { url: "https://inside.internal" } }, isOther),
    probes: [plain, other],
  },
  {
    of: "http-request",
    name: "a rule that asks another server, which a backtest does not do",
    to: rule({ type: "http-request", config: { url: "https://127.0.0.1:1/", on_error: "halt" } }),
    probes: [plain],
    unknown: 2,
  },
  {
    of: "close-connection",
    name: "a rule that closes connections",
    to: rule({ type: "close-connection" }, isOther),
    probes: [plain, other],
  },
];

/** Without an effect on requests of HTTPS edges, or with one that no change of a document has alone. */
const without = [
  "tls_termination",
  "terminate-tls",
  "traffic_policy",
  "inbox",
  "forwarding",
  "mcp",
  "log",
  "sse-find-replace",
];
let strangerPem = "";

it("the effects of every module and action on requests have a known change", () => {
  const known = new Set([...effects.map(({ of }) => of), ...without]);
  const names = [...modules.map(({ name }) => name), ...actions.map(({ type }) => type)];
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
  );
});

describe("a backtest counts the effect of a change, and the effect comes true", () => {
  let busy: BusyEdge;
  let traffic: ReturnType<typeof recordTraffic>;
  let sent = 0;

  before(async () => {
    const line = {
      waitingBytes: 0,
      send() {},
      ask: () => Promise.resolve(undefined),
      askBlocks: () => Promise.resolve(undefined),
    };
    busy = await startBusyEdge({ capture: { line, edge: 1 }, captureRequests: true });
    await busy.ready();
    busy.edge.put({ kind: "account", id: "ac_1", doc: { capture: { body_bytes: 1000 } } });
    busy.edge.put({ kind: "ip_policy", id: "ipp_none", doc: {} });
    const inside = stringify({
      on_http_request: [{ actions: [{ type: "custom-response", config: { status_code: 200, body: "inside" } }] }],
    });
    busy.edge.put({
      kind: "cloud_endpoint",
      id: "ep_inside",
      doc: { url: "https://inside.internal", traffic_policy: inside },
    });
    strangerPem = busy.edge.authority.certificatePem;
    traffic = recordTraffic();
  });
  after(async () => {
    traffic.stop();
    await busy.stop();
  });

  const routeWith = (fields: Doc): Change => ({
    kind: "https_edge_route",
    id: routeId,
    doc: {
      edge_id: "edghts_1",
      match_type: "path_prefix",
      match: "/probe",
      backend: { enabled: true, backend_id: "bkdsc_1" },
      ...fields,
    },
  });
  const put = (changes: readonly Change[]): void => {
    for (const { kind, id, doc } of changes) {
      if (doc === null) busy.edge.remove(kind, id);
      else busy.edge.put({ kind, id, doc });
    }
  };

  /** Sends one request, and returns what came of it. */
  const send = async (protocol: Protocol, probe: Probe): Promise<Seen> => {
    sent += 1;
    // All have the same length, which the length of an echo contains.
    const number = String(1000 + sent);
    const isMutual = probe.host === "mutual.example.com";
    const headers = { ...probe.headers, "x-probe": number };
    const asked = busy.edge.ask(protocol, { host, ...probe, headers, ...(isMutual && { tls: busy.certificate }) });
    const text = await asked.then(
      ({ status, headers: { date: _date, ...fields }, text: body }) => JSON.stringify([status, fields, body]),
      () => "cut",
    );
    const find = (): CapturedRequest | undefined =>
      traffic.records.find(({ request }) =>
        request.headers.some(([name, value]) => name === "x-probe" && value === number),
      );
    // A handshake that fails leaves no record.
    const record =
      text === "cut" && isMutual
        ? undefined
        : await eventually(
            () => Promise.resolve(find()),
            (one) => one !== undefined,
          );
    return { record, text: textOf(text, number) };
  };
  const sendAll = async (probes: readonly Probe[]): Promise<readonly Seen[]> => {
    const seen: Seen[] = [];
    for (const protocol of protocols) for (const probe of probes) seen.push(await send(protocol, probe));
    return seen;
  };

  for (const { of, name, from = {}, to = {}, changes, probes, unknown = 0, module } of effects) {
    it(`a backtest counts the effect of ${name}`, async () => {
      put([routeWith(from)]);
      const { objects } = busy.edge;
      const seen = await sendAll(probes);
      const made = changes?.() ?? [routeWith(to)];
      const records = seen.flatMap(({ record }) => record ?? []);
      const report = await backtestOf(records, objects, made);

      put(made);
      const again = await sendAll(probes);
      put(
        made.map(
          ({ kind, id }) => objects.find((one) => one.kind === kind && one.id === id) ?? { kind, id, doc: null },
        ),
      );

      assert.equal(report.tried, seen.length);
      assert.equal(report.unknown, unknown, JSON.stringify(report.unknownReasons));
      assert.equal(report.differentlyRecorded, 0);
      if (unknown > 0) return;
      const happened: Record<string, number> = {};
      for (const [at, before] of seen.entries()) {
        const kind = changeOf(before, again[at] as Seen);
        if (kind !== undefined) happened[kind] = (happened[kind] ?? 0) + 1;
      }
      const counted = Object.fromEntries(Object.entries(report.differences).filter(([, count]) => count > 0));
      assert.deepEqual(counted, happened);
      assert.ok(report.different > 0);
      assert.equal(report.causes[0]?.module, module ?? (isAction(of) ? "traffic_policy" : of));
      assert.equal(report.causes[0]?.object?.id, made[0]?.id);
    });
  }
});

/** Parts that differ between any two requests. */
function textOf(text: string, number: string): string {
  return text
    .replaceAll(`\\"x-probe\\":\\"${number}\\"`, "")
    .replaceAll(/req_\w+/g, "req")
    .replaceAll(/[0-9a-f]{16,}/g, "hex");
}

function isAction(name: string): boolean {
  return !modules.some((module) => module.name === name);
}

function changeOf(before: Seen, now: Seen): string | undefined {
  const [was, is] = [isServed(before.record), isServed(now.record)];
  if (was !== is) return was ? "allowed_to_denied" : "denied_to_allowed";
  const [one, other] = [before.record as CapturedRequest, now.record as CapturedRequest];
  if (is && one.routeId !== other.routeId) return "other_route";
  const [backend, otherBackend] = [one.decision.backendId, other.decision.backendId];
  if (is && backend !== undefined && otherBackend !== undefined && backend !== otherBackend) return "other_backend";
  if (one.decision.status !== other.decision.status || one.decision.errorCode !== other.decision.errorCode)
    return "other_status";
  return is && before.text !== now.text ? "other_headers" : undefined;
}

function isServed(record: CapturedRequest | undefined): boolean {
  if (record === undefined) return false;
  const { outcome, status, backendId, steps } = record.decision;
  if (outcome === "forwarded" || (backendId !== undefined && outcome === "answered")) return true;
  const isLogin = steps.some(({ by, outcome: its }) => ["oauth", "oidc", "saml"].includes(by) && its === "answered");
  return outcome === "answered" && status < 400 && !isLogin;
}
