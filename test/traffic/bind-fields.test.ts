/** Every field of a tunnel request is applied, or refused by name. None is ignored. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { newCredential } from "../support/objects.ts";
import { connectRaw, question } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";

type Members = Readonly<Record<string, unknown>>;

const { token, object } = newCredential();
const credentials = [{ username: "ann", cleartext_password: "correct horse" }];

/** Refused options, with the name in the refusal. */
const refused: readonly (readonly [name: string, message: Members])[] = [
  ["Bindings", { Extra: { Bindings: ["kubernetes"] } }],
  ["Bindings", { Extra: { Bindings: ["public", "kubernetes"] } }],
  ["Bindings", { Extra: { bindings: "kubernetes" } }],
  ["Bindings", { Extra: { Bindings: [7] } }],
  ["PoolingEnabled", { Extra: { poolingenabled: "yes" } }],
  ["IPPolicyRef", { Extra: { IPPolicyRef: "ipp_1" } }],
  ["Unheard", { Extra: { Unheard: true } }],
  ["Unheard", { Unheard: 1 }],
  ["ssh", { Proto: "ssh" }],
  ["grpc", { ForwardsProto: "grpc" }],
  ["PROXY protocol version 3", { Opts: { ProxyProto: 3 } }],
  ["PROXY protocol version 3", { Proto: "tcp", Opts: { ProxyProto: 3 } }],
  ["own.apps.example.com:8443", { Opts: { URL: "https://own.apps.example.com:8443" } }],
  ["Addr", { Opts: { Addr: "apps.example.com:20007" } }],
  ["Addr", { Proto: "tls", Opts: { Addr: "apps.example.com:20007" } }],
  ...["Hostname", "Domain", "Subdomain"].map((name) => [name, { Proto: "tcp", Opts: { [name]: "own" } }] as const),
  ...Object.entries({
    Auth: "ann:correct horse",
    HostHeaderRewrite: true,
    MutualTLSAtAgent: true,
    SAML: { idp_metadata: "<EntityDescriptor/>", entity_id: "https://id.example" },
    Unheard: {},
    toString: 1,
  }).flatMap(([name, value]) =>
    ["https", "tcp", "tls"].map((Proto) => [name, { Proto, Opts: { [name]: value } }] as const),
  ),
  ...Object.entries({
    OAuth: { provider: "google", client_id: "c", client_secret: "s" },
    OIDC: { issuer_url: "https://id.example.com", client_id: "c", client_secret: "s" },
    Compression: {},
    CircuitBreaker: { error_threshold: 0.5 },
    BasicAuth: { credentials },
    WebhookVerification: { provider: "github", secret: "secret" },
    WebsocketTCPConverter: {},
    Capture: {},
    RequestHeaders: { add: ["x-a:b"] },
    ResponseHeaders: { add: ["x-a:b"] },
    UserAgentFilter: { deny: ["curl"] },
  }).flatMap(([name, value]) => ["tcp", "tls"].map((Proto) => [name, { Proto, Opts: { [name]: value } }] as const)),
  ...Object.entries({
    Compression: {},
    CircuitBreaker: { error_threshold: 0.5 },
    IPRestriction: { deny_cidrs: ["192.0.2.0/24"] },
    BasicAuth: { credentials },
    MutualTLSCA: { mutual_tls_ca: "" },
    WebhookVerification: { provider: "github", secret: "secret" },
    WebsocketTCPConverter: {},
    RequestHeaders: { add: ["x-a:b"] },
    ResponseHeaders: { add: ["x-a:b"] },
    UserAgentFilter: { deny: ["curl"] },
  }).map(([name, value]) => ["unheard", { Opts: { [name]: { ...value, unheard: "of" } } }] as const),
  ["addParsed", { Opts: { RequestHeaders: { addParsed: { a: "b" } } } }],
  ["sealed_secret", { Opts: { WebhookVerification: { provider: "github", sealed_secret: "AAAA" } } }],
  ["sealed_key", { Proto: "tls", Opts: { TLSTermination: { sealed_key: "AAAA" } } }],
  ["TLSTermination", { Opts: { TLSTermination: { cert: "AAAA", key: "AAAA" } } }],
  ["MutualTLSCA", { Proto: "http", Opts: { MutualTLSCA: { mutual_tls_ca: "" } } }],
  ["TLSTermination", { Proto: "tcp", Opts: { TLSTermination: {} } }],
];

/** Refused changes, with the text of the refusal. */
const unchangeable: readonly (readonly [name: string, message: Members])[] = [
  ["PoolingEnabled", { PoolingEnabled: "yes" }],
  ["Name", { Name: 7 }],
  ["Description", { Description: "x".repeat(256) }],
  ["Bindings", { Bindings: ["internal"] }],
  ["ForwardsTo", { ForwardsTo: "http://localhost:80" }],
];

/** Contradictory or invalid values. */
const invalid: readonly (readonly [name: string, message: Members])[] = [
  ["Hostname", { Opts: { Hostname: "a.apps.example.com", Domain: "b.apps.example.com" } }],
  ["Hostname", { Opts: { Hostname: "a.apps.example.com", URL: "https://b.apps.example.com" } }],
  ["Subdomain", { Opts: { Hostname: "a.apps.example.com", Subdomain: "b" } }],
  ["tcp", { Opts: { URL: "tcp://apps.example.com:20007" } }],
  ["Addr", { Proto: "tcp", Opts: { Addr: "apps.example.com:20007", URL: "tcp://apps.example.com:20008" } }],
  ["hashed_password", { Opts: { BasicAuth: { credentials: [{ username: "ann", hashed_password: "JDJh" }] } } }],
];

const refusedLabelled: readonly (readonly [name: string, message: Members])[] = [
  ["grpc", { ForwardsProto: "grpc" }],
  ["PROXY protocol version 3", { ProxyProto: 3 }],
  ["Bindings", { Bindings: ["internal"] }],
  ["Extra", { Extra: { PoolingEnabled: true } }],
];

/** Values without effect, or equal to the present state. */
const done: readonly Members[] = [
  { Extra: { Bindings: [], PoolingEnabled: false, IPPolicyRef: "", Name: "", Description: "", Unheard: null } },
  { Extra: { Bindings: null } },
  { Extra: { Bindings: ["public"] } },
  { Extra: { PoolingEnabled: true } },
  { Extra: { Name: "web", Description: "the shop" } },
  { ForwardsProto: "http1" },
  { ForwardsProto: "http2" },
  { Opts: { LocalURLScheme: "http", Auth: "", HostHeaderRewrite: false, OAuth: null } },
  { Opts: { Hostname: "one.apps.example.com", Domain: "ONE.apps.example.com.", Subdomain: "one" } },
  { Opts: { URL: "https://two.apps.example.com/", Hostname: "two.apps.example.com" } },
  {
    Proto: "tcp",
    ForwardsProto: "http2",
    Opts: { Addr: "apps.example.com:20007", URL: "tcp://apps.example.com:20007" },
  },
  { Proto: "tls", Opts: { Subdomain: "three" } },
  { Proto: "http", Opts: { URL: "http://four.apps.example.com" } },
  { Opts: { BasicAuth: { credentials }, Compression: {}, CircuitBreaker: {}, RequestHeaders: { addParsed: {} } } },
];

describe("a field of a tunnel request", () => {
  let edge: TestEdge;
  let agent: RawAgent;
  let streamId = 3;

  before(async () => {
    edge = await startTestEdge([object], { tcpBind: "127.0.0.1", drainMs: 0 });
    agent = await connectRaw(edge.edge.agent);
    await agent.authenticate({}, { AuthToken: token });
  });
  after(async () => {
    agent.socket.destroy();
    await edge.edge.stop();
  });

  const ask = async (type: number, message: Members): Promise<Record<string, unknown>> => {
    streamId += 2;
    agent.write(question(streamId, type, message));
    return await agent.answer(streamId);
  };
  const bind = (message: Members) => ask(1, { Id: "", Proto: "https", Opts: {}, Extra: {}, ...message });
  const patch = (TunnelId: string, message: Members) => ask(10, { TunnelId, ...message });
  const tunnelOf = (extra: unknown) => String((extra as Members)["TunnelID"]);
  const label = (message: Members) => ask(7, { Labels: { app: "web" }, ForwardsTo: "", Metadata: "", ...message });

  for (const [name, message] of refused) {
    it(`a field of a tunnel request is refused by name: ${JSON.stringify(message)}`, async () => {
      const error = String((await bind(message))["Error"]);
      assert.match(error, /\n\nERR_NGROK_721\n$/);
      assert.ok(error.includes(name), error);
    });
  }

  for (const [name, message] of invalid) {
    it(`a contradictory tunnel request is refused: ${JSON.stringify(message)}`, async () => {
      const error = String((await bind(message))["Error"]);
      assert.match(error, /\n\nERR_NGROK_700\n$/);
      assert.ok(error.includes(name), error);
    });
  }

  for (const [name, message] of refusedLabelled) {
    it(`a field of a labelled tunnel request is refused by name: ${JSON.stringify(message)}`, async () => {
      const error = String((await label(message))["Error"]);
      assert.match(error, /\n\nERR_NGROK_721\n$/);
      assert.ok(error.includes(name), error);
    });
  }

  for (const message of done) {
    it(`a field of a tunnel request is accepted: ${JSON.stringify(message)}`, async () => {
      const answer = await bind(message);
      assert.equal(answer["Error"], "");
      assert.equal((await ask(2, { Id: answer["Id"] }))["Error"], "");
    });
  }

  for (const [name, message] of unchangeable) {
    it(`a field of a tunnel change is refused by name: ${JSON.stringify(message).slice(0, 60)}`, async () => {
      const { Id, Extra } = await bind({});
      const error = String((await patch(tunnelOf(Extra), message))["Error"]);
      assert.ok(error.includes(name), error);
      await ask(2, { Id });
    });
  }

  it("a tunnel change preserves name and description if it omits them", async () => {
    const { Id, Extra } = await bind({ Extra: { Name: "web", Description: "the shop" } });
    const id = tunnelOf(Extra);
    const told = (name: string, description: string, metadata: string) =>
      edge.report(
        (one) =>
          one.type === "tunnel_opened" &&
          one.tunnel.id === id &&
          one.tunnel.endpoint?.name === name &&
          one.tunnel.endpoint.description === description &&
          one.tunnel.metadata === metadata,
      );
    await told("web", "the shop", "");
    assert.equal((await patch(id, { Description: "its till" }))["Error"], "");
    await told("web", "its till", "");
    assert.equal((await patch(id, { Name: "", Metadata: "m" }))["Error"], "");
    await told("", "its till", "m");
    await ask(2, { Id });
  });

  for (const [Proto, Opts] of [
    ["https", { Hostname: "shared.apps.example.com" }],
    ["tls", { Hostname: "whole.apps.example.com" }],
    ["tcp", { Addr: ":20009" }],
    ["https", { Hostname: "shop.internal" }],
  ] as const) {
    it(`a change of a ${Proto} tunnel decides whether others may share ${JSON.stringify(Opts)}, while none does`, async () => {
      const Bindings = JSON.stringify(Opts).includes("internal") ? ["internal"] : [];
      const beside = () => bind({ Proto, Opts, Extra: { PoolingEnabled: true, Bindings } });
      const first = await bind({ Proto, Opts, Extra: { Bindings } });
      const id = tunnelOf(first["Extra"]);
      assert.match(String((await beside())["Error"]), /of this session already serves it/);

      assert.equal((await patch(id, { PoolingEnabled: true }))["Error"], "");
      const second = await beside();
      assert.equal(second["Error"], "");
      assert.match(
        String((await patch(id, { PoolingEnabled: false }))["Error"]),
        /serves it; several endpoints can serve one URL/,
      );

      await ask(2, { Id: second["Id"] });
      assert.equal((await patch(id, { PoolingEnabled: false }))["Error"], "");
      assert.match(String((await beside())["Error"]), /of this session already serves it/);
      await ask(2, { Id: first["Id"] });
    });
  }

  it("a tunnel request is accepted again with the URL of the first answer, whichever port it names", async () => {
    const first = await bind({ Opts: { URL: "" } });
    const url = new URL(String(first["URL"]));
    assert.equal(Number(url.port), edge.edge.https.port);
    await ask(2, { Id: first["Id"] });
    assert.equal((await bind({ Opts: { URL: url.origin } }))["URL"], url.origin);
    url.port = "8443";
    const { Token } = first["Extra"] as { Token: string };
    const opts = { URL: url.origin, Hostname: url.hostname };
    const again = await bind({ Id: first["Id"], Opts: opts, Extra: { Token } });
    assert.match(String(again["Error"]), /of this session already serves it/, "the port is not what it fails for");
  });
});
