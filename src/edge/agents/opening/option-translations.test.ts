import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import { modules } from "../../../modules/index.ts";
import type { CompiledModule } from "../../../traffic/module.ts";
import type { Exchange } from "../../../traffic/exchange.ts";
import { readCapture } from "./capture-option.ts";
import { endpointSite } from "./endpoint-site.ts";
import { compileOptions } from "./option-translations.ts";

const owner = { accountId: "ac_1", host: "app.example.com", endpointId: "ep_1", clock: systemClock };

function compile(options: Record<string, unknown>): readonly CompiledModule[] {
  return compileOptions(options, owner, modules);
}

/** Whether an IP restriction allows a source. */
function admits(options: Record<string, unknown>, source: string): boolean {
  const [module] = compile(options);
  return module?.connection?.(source).answer === undefined;
}

describe("the options of an agent", () => {
  it("the options of an agent compile to nothing if they are unused", () => {
    assert.deepEqual(
      compile({
        Hostname: "a.example",
        Auth: "",
        Subdomain: "a",
        HostHeaderRewrite: false,
        LocalUrlScheme: "http",
        ProxyProto: 0,
        Compression: null,
        OAuth: null,
      }),
      [],
    );
  });

  it("the options of an agent compile to the modules of a route, in the order of the list", () => {
    const compiled = compile({
      ResponseHeaders: { add: ["X-Out:1"] },
      Compression: {},
      UserAgentFilter: { deny: ["curl"] },
      IPRestriction: { allow_cidrs: ["192.0.2.0/24"] },
      CircuitBreaker: { error_threshold: 0.5 },
      RequestHeaders: { add: ["x-in: 1", "host:local.test"], remove: ["X-Gone"] },
    });
    const hooks = compiled.map((one) =>
      (["connection", "request", "response", "settled"] as const).filter((name) => one[name] !== undefined).join(" "),
    );
    const ipRestriction = "connection request";
    const circuitBreaker = "request settled";
    assert.deepEqual(hooks, [ipRestriction, "request", circuitBreaker, "request", "response", "response"]);
  });

  it("G2: the options of an agent cannot have an invalid policy or one that reads the account's secrets", () => {
    const policy = (expression: string) => ({
      TrafficPolicy: JSON.stringify({
        on_http_request: [{ expressions: [expression], actions: [{ type: "deny" }] }],
      }),
    });
    assert.equal(compile(policy("req.method == 'PUT'")).length, 1);
    for (const [expression, holds] of [
      ["req.metod == 'PUT'", /did you mean "req\.method"\?/],
      ["secrets.get('vault', 'key') == ''", /reads secrets of the account/],
    ] as const) {
      assert.throws(
        () => compile(policy(expression)),
        (error) => error instanceof Refusal && error.reason === "agent_policy_invalid" && holds.test(error.message),
      );
    }
  });

  it("the options of an agent add the converter to the endpoint's route", () => {
    const site = endpointSite(
      {
        ...owner,
        tunnelId: "tn_1",
        host: "a.example",
        revision: 1,
        mark: 0,
        modules: compile({ WebsocketTCPConverter: {} }),
        beside: undefined,
        agentMark: "",
        restriction: () => undefined,
      },
      443,
    );
    const route = site.findRoute("/", "h");
    assert.equal(route?.request.length, 1);
    assert.notEqual(route.converter, undefined);
  });

  it("the options of an agent restrict sources: allowed ones only, or all except the denied ones", () => {
    const allow = { IPRestriction: { allow_cidrs: ["192.0.2.0/24"], deny_cidrs: ["192.0.2.7/32"] } };
    assert.equal(admits(allow, "192.0.2.1"), true);
    assert.equal(admits(allow, "192.0.2.7"), false);
    assert.equal(admits(allow, "198.51.100.1"), false);
    const deny = { IPRestriction: { deny_cidrs: ["2001:db8::/32"] } };
    assert.equal(admits(deny, "198.51.100.1"), true);
    assert.equal(admits(deny, "2001:db8::1"), false);
  });

  it("the options of an agent set how the server captures requests, with the defaults and limits of routes", () => {
    assert.equal(readCapture({}), undefined);
    assert.deepEqual(readCapture({ Capture: { redact_headers: ["x-key"] } }), {
      enabled: true,
      sample: 1,
      hours: 24,
      redact_headers: ["x-key"],
      redact_query: [],
      body_bytes: 0,
    });
    for (const invalid of [{ hours: 721 }, { sample: 2 }, { unheard: 1 }, { body_bytes: 1e9 }, "yes", []]) {
      assert.throws(() => readCapture({ Capture: invalid }), Refusal, JSON.stringify(invalid));
    }
  });

  it("the options of an agent filter user agents", async () => {
    const [module] = compile({ UserAgentFilter: { allow: ["good"], deny: ["curl"] } });
    const step = (agent: string) =>
      module?.request?.({ request: { headers: { getAll: () => [agent] } } } as unknown as Exchange);
    assert.equal((await step("curl/8"))?.outcome, "denied");
    assert.equal((await step("good curl/8"))?.outcome, "passed");
  });

  it("the options of an agent are refused by name if no module implements them", () => {
    const unsupported: Record<string, unknown>[] = [
      { SAML: { idp_metadata: "<EntityDescriptor/>", entity_id: "https://id.example" } },
      { OAuth: { provider: "google", realm: "staff" } },
      { OIDC: { issuer_url: "https://id.example", allow_groups: ["staff"] } },
      { BasicAuth: true },
      { BasicAuth: { credentials: [{ username: "ann", cleartext_password: "correct horse" }], realm: "staff" } },
      { Auth: "a:b" },
      { Unheard: [1] },
      { Compression: true },
      { RequestHeaders: { addParsed: { a: "b" } } },
    ];
    for (const options of unsupported) {
      assert.throws(
        () => compile(options),
        (error) => error instanceof Refusal && error.reason === "agent_option_unsupported",
        JSON.stringify(options),
      );
    }
  });

  it("the options of an agent are refused if they are invalid", () => {
    const invalid: Record<string, unknown>[] = [
      { IPRestriction: { allow_cidrs: ["not a network"] } },
      { IPRestriction: { allow_cidrs: "192.0.2.0/24" } },
      { UserAgentFilter: { deny: ["("] } },
      { CircuitBreaker: { error_threshold: 7 } },
      { Forwarding: { response_timeout: 86_401 } },
      { Forwarding: { response_timeout: -1 } },
      { Forwarding: { encoded_slashes: "yes" } },
      { RequestHeaders: { add: ["no colon"] } },
      { RequestHeaders: { add: ["x-a: b\r\nx-evil: c"] } },
      { RequestHeaders: { add: ["transfer-encoding: chunked"] } },
      { RequestHeaders: { remove: ["host"] } },
      { WebhookVerification: { provider: "nobody", secret: "s" } },
      { MutualTLSCA: { mutual_tls_ca: "" } },
      { MutualTLSCA: { mutual_tls_ca: Buffer.from("nothing").toString("base64") } },
      { MutualTLSCA: {} },
      { MutualTLSCA: { mutual_tls_ca: "" }, MutualTLSAtEdge: { mutual_tls_ca: "" } },
      { BasicAuth: { credentials: [] } },
      { BasicAuth: { credentials: [{ username: "ann", cleartext_password: "short" }] } },
      { BasicAuth: { credentials: [{ username: "", cleartext_password: "correct horse" }] } },
      { BasicAuth: { credentials: [{ username: "a:b", cleartext_password: "correct horse" }] } },
      { BasicAuth: { credentials: [{ username: "ann", hashed_password: "JDJhJDEw" }] } },
      {
        BasicAuth: {
          credentials: Array.from({ length: 101 }, () => ({ username: "ann", cleartext_password: "correct horse" })),
        },
      },
      { UserAgentFilter: { deny: Array.from({ length: 2000 }, () => "x") } },
    ];
    for (const options of invalid) {
      assert.throws(
        () => compile(options),
        (error) => error instanceof Refusal && error.reason === "agent_request_invalid",
        JSON.stringify(options).slice(0, 100),
      );
    }
  });
});
