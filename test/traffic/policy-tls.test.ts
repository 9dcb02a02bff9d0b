/** Rules that end TLS: of TLS edges, of tls endpoints of agents, and of tls cloud endpoints, on raw connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { after, before, beforeEach, describe, it } from "node:test";
import { createAuthority, createSelfSigned, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { certificateAuthority, connectionEdge, newCredential } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";

const host = "db.example.com";
const now = Date.now();
const clients = await createAuthority({ commonName: "Clients", now });
const alice = await issueLeaf(clients, { names: ["alice"], now, days: 1, usages: ["clientAuth"] });
const mallory = await createSelfSigned({ names: ["mallory"], now, days: 1 });
const own = await createSelfSigned({ names: [host], now, days: 1 });
const ofService = await createSelfSigned({ names: [host, "tls.example.com"], now, days: 1 });

let edge: TestEdge;
/** Echoes the received bytes in plain text. A second service speaks TLS itself. */
let plain: TcpService;
let secure: TcpService;
let agent: TestAgent;
let secureAgent: TestAgent;

before(async () => {
  const credential = newCredential();
  edge = await startTestEdge([credential.object, certificateAuthority("ca_clients", clients.certificatePem)]);
  plain = await startTcpService((socket) =>
    socket.on("data", (bytes: Buffer) => socket.end(`got ${bytes.toString()}`)),
  );
  secure = await startTcpService(
    (socket) => socket.on("data", (bytes: Buffer) => socket.end(`inside ${bytes.toString()}`)),
    { cert: ofService.certificatePem, key: ofService.keyPem },
  );
  agent = await connectAgent(edge, credential.token, plain.port, false);
  secureAgent = await connectAgent(edge, credential.token, secure.port, false);
  await agent.label({ app: "plain" });
  await secureAgent.label({ app: "secure" });
});
after(async () => {
  agent.close();
  secureAgent.close();
  await plain.stop();
  await secure.stop();
  await edge.edge.stop();
});
beforeEach(() => {
  // Like a control plane that has restarted and received nothing yet.
  edge.send({ type: "traffic_wanted", wanted: [{ accountId: "ac_1", types: ["tcp_connection_closed.v0"] }] });
});

const terminate = (config: object = {}) => ({ type: "terminate-tls", config });
const note = (metadata: object) => ({ type: "log", config: { metadata } });
const rules = (...list: readonly object[]) => JSON.stringify({ on_tcp_connect: list });
const actions = (...list: readonly object[]) => rules({ actions: list });

/** A TLS edge with this policy, to the service that speaks plain text or to the one that speaks TLS. */
function serve(value: string, blocks: object = {}, app = "plain"): void {
  const traffic_policy = { enabled: true, value };
  for (const one of connectionEdge("tls_edge", app, [`${host}:443`], { traffic_policy, ...blocks })) {
    edge.put({ ...one, id: one.kind === "tls_edge" ? "edgtls_1" : one.id });
  }
}

interface Heard {
  readonly text: string;
  readonly issuer: string;
  readonly version: string | null;
}

/** The response to a client that sends `hello`. Rejects if there is none. */
async function say(options: ConnectionOptions = {}): Promise<Heard> {
  const ca = [edge.authority, own, ofService].map(({ certificatePem }) => certificatePem);
  const socket: TLSSocket = connect({
    host: "127.0.0.1",
    port: edge.edge.https.port,
    servername: host,
    ca,
    ...options,
  });
  try {
    await once(socket, "secureConnect");
    const { version, issuer } = {
      version: socket.getProtocol(),
      issuer: String(socket.getPeerX509Certificate()?.issuer),
    };
    socket.write("hello");
    let text = "";
    for await (const piece of socket) text += String(piece);
    if (text === "") throw new Error("closed without an answer");
    return { text, issuer, version };
  } finally {
    socket.destroy();
  }
}

/** The report of a past or future connection that contains the text. */
async function told(text: string) {
  const isMeant = (report: object): boolean => JSON.stringify(report).includes(text);
  const message = await edge.report((one) => one.type === "traffic" && one.reports.some(isMeant));
  assert.ok(message.type === "traffic");
  const report = message.reports.find(isMeant);
  assert.ok(report?.type === "tcp_connection_closed.v0");
  return report;
}

const shown = ({ certificatePem, keyPem }: typeof own) => ({ cert: certificatePem, key: keyPem });

describe("terminate-tls of a TLS edge", { timeout: 60_000 }, () => {
  for (const [what, label] of [
    ["a label of 64 letters", "a".repeat(64)],
    ["a label that ends with a hyphen", "a-"],
  ] as const)
    it(`D1: ${what} below the wildcard of a TLS edge with a terminating rule ends only that connection`, async () => {
      const never = { expressions: ["false"], actions: [terminate()] };
      for (const one of connectionEdge("tls_edge", "plain", ["*.localhost:443"], {
        traffic_policy: { enabled: true, value: rules(never) },
      })) {
        edge.put({ ...one, id: one.kind === "tls_edge" ? "edgtls_1" : one.id });
      }
      await assert.rejects(say({ servername: `${label}.localhost` }));
      assert.equal((await say({ servername: "db.localhost" })).text, "got hello");
    });

  it("terminate-tls of a TLS edge terminates TLS: later rules see the handshake, and earlier ones the ClientHello", async () => {
    serve(
      rules(
        {
          expressions: ["conn.tls.version == ''", "conn.tls.sni == 'db.example.com'"],
          actions: [
            note({ sni: "${conn.tls.sni}", alpn: "${conn.tls.negotiated_alpn}", version: "${conn.tls.version}" }),
          ],
        },
        { actions: [terminate()] },
        {
          expressions: ["conn.tls.version == '1.3'", "actions.ngrok.terminate_tls.version == '1.3'"],
          actions: [
            note({
              cipher: "${conn.tls.cipher_suite}",
              alpn: "${conn.tls.negotiated_alpn}",
              server: "${actions.ngrok.terminate_tls.server.issuer.common_name}",
              host: "${endpoint.host}",
            }),
          ],
        },
      ),
    );
    const heard = await say({ ALPNProtocols: ["postgresql", "h2"] });
    assert.deepEqual([heard.text, heard.issuer], ["got hello", "CN=Test"]);
    const { logs, tls, outcome } = await told("postgresql");
    assert.deepEqual(logs, [
      { sni: host, alpn: "postgresql", version: "" },
      { cipher: "TLS_AES_128_GCM_SHA256", alpn: "", server: "Test", host },
    ]);
    assert.deepEqual([tls?.version, outcome], ["TLSv1.3", "served"]);
  });

  it("terminate-tls of a TLS edge holds its versions, written as texts or as numbers", async () => {
    serve(`{on_tcp_connect: [{actions: [{type: terminate-tls, config: {min_version: 1.3}}]}]}`);
    await assert.rejects(say({ maxVersion: "TLSv1.2" }));
    assert.equal((await say()).version, "TLSv1.3");
    serve(actions(terminate({ max_version: "1.2" })));
    await assert.rejects(say({ minVersion: "TLSv1.3" }));
    assert.equal((await say()).version, "TLSv1.2");
  });

  it("terminate-tls of a TLS edge shows the certificate that it is given, as text or made of expressions", async () => {
    const { certificatePem, keyPem } = own;
    serve(actions(terminate({ server_certificate: certificatePem, server_private_key: keyPem })));
    assert.equal((await say()).issuer, `CN=${host}`);
    const vars = { type: "set-vars", config: { vars: [{ pem: certificatePem }, { key: keyPem }] } };
    serve(actions(vars, terminate({ server_certificate: "${vars.pem}", server_private_key: "${vars.key}" })));
    assert.equal((await say()).issuer, `CN=${host}`);
    assert.equal((await say()).issuer, `CN=${host}`);
    const broken = { type: "set-vars", config: { vars: [{ pem: certificatePem }, { key: "nothing" }] } };
    serve(actions(broken, terminate({ server_certificate: "${vars.pem}", server_private_key: "${vars.key}" })));
    await assert.rejects(say());
  });

  for (const authority of ["ca_clients", clients.certificatePem, "${vars.ca}"]) {
    it(`K2: terminate-tls of a TLS edge admits clients with a certificate of an authority given as ${authority.replace(/\n[^]*/, "")}`, async () => {
      const vars = { type: "set-vars", config: { vars: [{ ca: clients.certificatePem }] } };
      const mark = `by ${authority.length}`;
      const seen = note({ mark, who: "${conn.tls.client.subject.common_name}" });
      serve(actions(vars, terminate({ mutual_tls_certificate_authorities: [authority] }), seen));
      assert.equal((await say(shown(alice))).text, "got hello");
      assert.deepEqual((await told(mark)).logs, [{ mark, who: "alice" }]);
      await assert.rejects(say());
      await assert.rejects(say(shown(mallory)));
    });
  }

  it("terminate-tls of a TLS edge accepts any certificate with require-any, and needs none with request", async () => {
    const by = (strategy: string) =>
      actions(
        terminate({ mutual_tls_verification_strategy: strategy, mutual_tls_certificate_authorities: ["ca_clients"] }),
        note({ strategy, who: "${conn.tls.client.subject.common_name}" }),
      );
    serve(by("require-any"));
    assert.equal((await say(shown(mallory))).text, "got hello");
    assert.deepEqual((await told("require-any")).logs, [{ strategy: "require-any", who: "mallory" }]);
    await assert.rejects(say());
    serve(by("request"));
    assert.equal((await say()).text, "got hello");
    assert.deepEqual((await told('"request"')).logs, [{ strategy: "request", who: "" }]);
  });

  it("a TLS edge whose rule does not end TLS ends it as ever, or passes it through where it is to", async () => {
    const never = rules({ expressions: ["conn.tls.sni == 'x'"], actions: [terminate({ min_version: "1.3" })] });
    serve(never);
    assert.deepEqual(await say({ maxVersion: "TLSv1.2" }), {
      text: "got hello",
      issuer: "CN=Test",
      version: "TLSv1.2",
    });
    const tls_termination = { enabled: true, terminate_at: "upstream", min_version: null };
    serve(never, { tls_termination }, "secure");
    assert.equal((await say()).text, "inside hello");
    serve(actions(terminate()), { tls_termination });
    assert.equal((await say()).text, "got hello");
  });

  it("R6: a TLS edge is closed if its rule terminates TLS with less than its modules require, or with a deleted authority", async () => {
    serve(actions(terminate()), { mutual_tls: { enabled: true, certificate_authority_ids: ["ca_clients"] } });
    await assert.rejects(say(shown(alice)));
    serve(actions(terminate({ mutual_tls_certificate_authorities: ["ca_gone"] })));
    await assert.rejects(say(shown(alice)));
  });

  it("a connection whose handshake fails under terminate-tls is reported with the failure", async () => {
    serve(actions(terminate({ min_version: "1.3" })));
    await assert.rejects(say({ maxVersion: "TLSv1.2" }));
    assert.equal((await told("terminate-tls: the TLS handshake failed")).outcome, "denied");
  });
});

describe("terminate-tls of a tls endpoint", { timeout: 60_000 }, () => {
  it("terminate-tls of a tls endpoint of an agent ends TLS there, and without it the agent's service does", async () => {
    const servername = "tls.example.com";
    const bound = await agent.bind({ proto: "tls", hostname: servername, trafficPolicy: actions(terminate()) });
    assert.deepEqual([(await say({ servername })).text, (await say({ servername })).issuer], ["got hello", "CN=Test"]);
    await agent.session.unbind(bound.id);
    const allowed = actions({ type: "restrict-ips", config: { allow: ["127.0.0.0/8"] } });
    await secureAgent.bind({ proto: "tls", hostname: servername, trafficPolicy: allowed });
    assert.equal((await say({ servername })).text, "inside hello");
  });

  it("terminate-tls is refused where there is no TLS to end, and in forms that cannot be carried out", async () => {
    const refused = async (config: object, code: string, proto: "tls" | "tcp" = "tls") => {
      const hostname = proto === "tls" ? { hostname: "x.example.com" } : {};
      await assert.rejects(
        agent.bind({ proto, ...hostname, trafficPolicy: actions(terminate(config)) }),
        (error: Error) => error.message.includes(code),
        JSON.stringify(config),
      );
    };
    const { certificatePem: server_certificate, keyPem: server_private_key } = own;
    await refused({}, "is for tls", "tcp");
    await refused({ server_certificate }, "server_private_key must be set");
    await refused({ server_certificate: "nothing", server_private_key }, "must hold a certificate");
    await refused({ server_certificate, server_private_key: alice.keyPem }, "must be the certificate's");
    await refused({ min_version: "1.3", max_version: "1.2" }, "must not be below min_version");
    await refused({ min_version: "1.1" }, "must be one of");
    await refused({ mutual_tls_verification_strategy: "require-and-verify" }, "needs one");
    await refused({ mutual_tls_certificate_authorities: [alice.certificatePem] }, "hold certificate authorities");
  });

  it("a tls cloud endpoint forwards TLS nowhere, and terminates it by rule", async () => {
    const doc = (value: string) => ({ url: "tls://cloud.example.com", traffic_policy: value });
    edge.put({ kind: "cloud_endpoint", id: "ep_1", doc: doc(actions(terminate(), { type: "deny" })) });
    const socket = connect({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: "cloud.example.com",
      ca: edge.authority.certificatePem,
    });
    await once(socket, "secureConnect");
    await once(socket.resume(), "close");
    const { decision } = await told('"ep_1"');
    assert.match(decision?.reason ?? "", /^on_tcp_connect\[0\]: terminate-tls: terminated TLS, version 1\.3; deny: /);
  });
});
