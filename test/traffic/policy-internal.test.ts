/** Internal and cloud endpoints, and rules that forward to them: whole connections, and requests by either scheme. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, portIs, visit } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService, startTcpService } from "../support/services.ts";
import type { HttpService, TcpService } from "../support/services.ts";

const host = "db.example.com";
const ofService = await createSelfSigned({ names: [host], now: Date.now(), days: 1 });

const own = newCredential();
let edge: TestEdge;
let plain: TcpService;
let secure: TcpService;
let agent: TestAgent;
let secureAgent: TestAgent;
/** Of the tcp cloud endpoint. */
let port: number;

before(async () => {
  port = await freePort();
  edge = await startTestEdge([own.object], { tcpBind: "127.0.0.1" });
  plain = await startTcpService((socket) =>
    socket.on("data", (bytes: Buffer) => socket.end(`got ${bytes.toString()}`)),
  );
  secure = await startTcpService(
    (socket) => socket.on("data", (bytes: Buffer) => socket.end(`inside ${bytes.toString()}`)),
    { cert: ofService.certificatePem, key: ofService.keyPem },
  );
  agent = await connectAgent(edge, own.token, plain.port, false);
  secureAgent = await connectAgent(edge, own.token, secure.port, false);
});
after(async () => {
  agent.close();
  secureAgent.close();
  await plain.stop();
  await secure.stop();
  await edge.edge.stop();
});
beforeEach(() => {
  edge.send({ type: "traffic_wanted", wanted: [{ accountId: "ac_1", types: ["tcp_connection_closed.v0"] }] });
});

const forward = (url: string, more: object = {}) => ({ type: "forward-internal", config: { url, ...more } });
const actions = (...list: readonly object[]) => JSON.stringify({ on_tcp_connect: [{ actions: list }] });

function cloud(id: string, url: string, ...list: readonly object[]): void {
  edge.put({ kind: "cloud_endpoint", id: `ep_${id}`, doc: { url, traffic_policy: actions(...list) } });
}

/** The response to a TLS client that sends `hello`. Rejects if there is none. */
async function say(servername = host): Promise<string> {
  const ca = [edge.authority.certificatePem, ofService.certificatePem];
  const socket = connect({ host: "127.0.0.1", port: edge.edge.https.port, servername, ca });
  try {
    await once(socket, "secureConnect");
    socket.write("hello");
    let text = "";
    for await (const piece of socket) text += String(piece);
    if (text === "") throw new Error("closed without an answer");
    return text;
  } finally {
    socket.destroy();
  }
}

async function told(text: string) {
  const isMeant = (report: object): boolean => JSON.stringify(report).includes(text);
  const message = await edge.report((one) => one.type === "traffic" && one.reports.some(isMeant));
  assert.ok(message.type === "traffic");
  const report = message.reports.find(isMeant);
  assert.ok(report?.type === "tcp_connection_closed.v0");
  return report;
}

describe("an internal endpoint of TCP", { timeout: 30_000 }, () => {
  it("an internal endpoint of TCP is reached by a policy of its account, at no port, and only while it is online", async () => {
    const bound = await agent.bind({ proto: "tcp", address: "db.internal:5432" });
    assert.deepEqual([bound.url, bound.address], ["tcp://db.internal:5432", "db.internal:5432"]);
    cloud("tcp", `tcp://tcp.example.com:${port}`, forward("tcp://db.internal:5432"));
    await portIs("open", port);
    assert.equal((await visit(port, "hello")).text, "got hello");
    await portIs("closed", 5432);
    await agent.session.unbind(bound.id);
    assert.equal((await visit(port, "hello")).text, "");
    assert.equal((await told("the endpoint is not online")).outcome, "denied");
  });

  it("an internal TCP endpoint may be a wildcard, and the nearest name is used", async () => {
    const wide = await agent.bind({ proto: "tcp", address: "*.internal:7000" });
    cloud(
      "near",
      "tcp://*.near.internal:7000",
      { type: "log", config: { metadata: { by: "near" } } },
      { type: "deny" },
    );
    cloud("tcp", `tcp://tcp.example.com:${port}`, forward("tcp://a.b.internal:${conn.server_port > 0 ? 7000 : 1}"));
    assert.equal((await visit(port, "hello")).text, "got hello");
    cloud("tcp", `tcp://tcp.example.com:${port}`, forward("tcp://a.near.internal:7000"));
    assert.equal((await visit(port, "hello")).text, "");
    assert.deepEqual((await told('"near"')).logs, [{ by: "near" }]);
    await agent.session.unbind(wide.id);
  });

  it("an internal endpoint of TCP that leads back to itself ends after five hops", async () => {
    cloud("one", "tcp://one.internal:1", forward("tcp://two.internal:2"));
    cloud("two", "tcp://two.internal:2", forward("tcp://one.internal:1"));
    cloud("tcp", `tcp://tcp.example.com:${port}`, forward("tcp://one.internal:1"));
    assert.equal((await visit(port, "hello")).text, "");
    assert.match(
      (await told("more than 5 times")).decision?.reason ?? "",
      /^forwarded more than 5 times, last to "tcp:/,
    );
  });

  it("if an internal TCP endpoint is away, later rules decide if the policy allows it, and unanswered connections are closed", async () => {
    const soft = forward("tcp://away.internal:1", { on_error: "continue" });
    const note = { type: "log", config: { metadata: { code: "${actions.ngrok.forward_internal.error.code}" } } };
    cloud("tcp", `tcp://tcp.example.com:${port}`, soft, note);
    assert.equal((await visit(port, "hello")).text, "");
    const { logs, decision } = await told("ERR_NGROK_3200");
    assert.deepEqual(logs, [{ code: "ERR_NGROK_3200" }]);
    assert.equal(decision?.reason, "no rule of the endpoint's policy has answered");
  });

  it("P1: an internal endpoint of TCP is reached by no other account, and by no other protocol", async () => {
    const bound = await agent.bind({ proto: "tcp", address: "mine.internal:9000" });
    const doc = { url: `tcp://tcp.example.com:${port}`, traffic_policy: actions(forward("tcp://mine.internal:9000")) };
    edge.remove("cloud_endpoint", "ep_tcp");
    edge.put({ kind: "cloud_endpoint", id: "ep_foreign", account_id: "ac_2", doc });
    await portIs("open", port);
    assert.equal((await visit(port, "hello")).text, "");
    edge.send({
      type: "changes",
      revision: 10_000,
      changes: [{ kind: "cloud_endpoint", id: "ep_foreign", account_id: "ac_2", object: null }],
    });
    for (const url of [
      "tls://mine.internal:9000",
      "https://mine.internal",
      "tcp://mine.internal",
      "tcp://mine.example:9000",
    ]) {
      await assert.rejects(
        agent.bind({ proto: "tcp", trafficPolicy: actions(forward(url)) }),
        /must be the URL of an int/,
      );
    }
    await agent.session.unbind(bound.id);
  });
});

describe("an internal endpoint of TLS", { timeout: 30_000 }, () => {
  it("an internal TLS endpoint receives TLS unchanged, or the decrypted bytes if the caller has terminated TLS", async () => {
    const bound = await secureAgent.bind({ proto: "tls", hostname: "db.internal" });
    assert.equal(bound.url, "tls://db.internal");
    cloud("tls", `tls://${host}`, forward("tls://db.internal"));
    assert.equal(await say(), "inside hello");
    await secureAgent.session.unbind(bound.id);
    const inner = await agent.bind({ proto: "tls", hostname: "db.internal" });
    cloud(
      "tls",
      `tls://${host}`,
      { type: "terminate-tls" },
      forward("tls://${conn.tls.sni.split('.')[0]}.internal:443"),
    );
    assert.equal(await say(), "got hello");
    await agent.session.unbind(inner.id);
  });

  it("an internal TLS endpoint terminates TLS by its own rule, once, and refuses weaker requirements", async () => {
    const strict = { min_version: "1.3", mutual_tls_verification_strategy: "require-any" };
    const inner = await agent.bind({
      proto: "tls",
      hostname: "db.internal",
      trafficPolicy: actions({ type: "terminate-tls" }),
    });
    cloud("tls", `tls://${host}`, forward("tls://db.internal"));
    assert.equal(await say(), "got hello");
    cloud("tls", `tls://${host}`, { type: "terminate-tls" }, forward("tls://db.internal"));
    assert.equal(await say(), "got hello");
    await agent.session.unbind(inner.id);
    await agent.bind({
      proto: "tls",
      hostname: "db.internal",
      trafficPolicy: actions({ type: "terminate-tls", config: strict }),
    });
    await assert.rejects(say());
    assert.equal((await told("by a handshake with fewer requirements")).outcome, "denied");
  });

  it("clients cannot request an internal TLS endpoint by name", async () => {
    for (const name of ["db.internal", "db.internal.ac_1"]) await assert.rejects(say(name));
  });
});

it("a name with the binding internal ends in .internal, and one that does is not public", async () => {
  const bind = (hostname: string, bindings: readonly string[]) => agent.bind({ proto: "tls", hostname, bindings });
  await assert.rejects(bind("a.example.com", ["internal"]), { reason: "internal_name_demanded" });
  await assert.rejects(bind("a.internal", ["public"]), { reason: "internal_binding_demanded" });
  await assert.rejects(bind("a.b.c.d.e.f.internal", []), /at most 5 labels/);
  assert.equal((await bind("a.b.c.d.e.internal", ["internal"])).url, "tls://a.b.c.d.e.internal");
  assert.match(errorCode("internal_name_demanded"), /9028$/);
});

describe("an internal name of HTTP", { timeout: 30_000 }, () => {
  const services: HttpService[] = [];
  const agents: TestAgent[] = [];
  after(async () => {
    for (const one of agents) one.close();
    for (const service of services) await service.stop();
  });
  async function publish(proto: "http" | "https", hostname: string, isShared = false): Promise<TestAgent> {
    const service = await startHttpService((_request, response) => response.end(`by ${proto}`));
    services.push(service);
    const one = await connectAgent(edge, own.token, service.port, false);
    agents.push(one);
    assert.equal(
      (await one.bind({ proto, hostname, ...(isShared && { pooling: true }) })).url,
      `${proto}://${hostname}`,
    );
    return one;
  }
  async function asked(url: string): Promise<string> {
    const traffic_policy = JSON.stringify({ on_http_request: [{ actions: [forward(url)] }] });
    edge.put({ kind: "cloud_endpoint", id: "ep_front", doc: { url: "https://front.example.com", traffic_policy } });
    const { status, text } = await edge.ask("h1", { host: "front.example.com", path: "/" });
    return status === 200 ? text : String(status);
  }

  it("an internal HTTP name is published under both schemes separately, and a single endpoint serves both", async () => {
    const secured = await publish("https", "api.internal");
    assert.deepEqual(
      [await asked("https://api.internal"), await asked("http://api.internal")],
      ["by https", "by https"],
    );
    await publish("http", "api.internal");
    assert.deepEqual(
      [await asked("https://api.internal"), await asked("http://api.internal")],
      ["by https", "by http"],
    );
    secured.close();
    await eventually(
      () => asked("https://api.internal"),
      (text) => text === "by http",
    );
  });

  it("an internal name of HTTP that several share has a pool for each scheme", async () => {
    for (const proto of ["http", "https", "http", "https"] as const) await publish(proto, "pool.internal", true);
    for (let count = 0; count < 8; count += 1) {
      assert.equal(await asked("http://pool.internal"), "by http");
      assert.equal(await asked("https://pool.internal"), "by https");
    }
  });

  it("an internal name of HTTP under one scheme goes before a wildcard over it under the other", async () => {
    await publish("http", "*.near.internal");
    await publish("https", "a.near.internal");
    assert.deepEqual(
      [await asked("http://a.near.internal"), await asked("https://b.near.internal")],
      ["by https", "by http"],
    );
  });
});
