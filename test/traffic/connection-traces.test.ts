/** Traces of finished connections contain the steps that an explanation predicts. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import type { ConnectionTrace, EdgeQuestion } from "../../src/routing/planes/edge-questions.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, readToEnd, visit } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { connectionEdge, newCredential } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";

let edge: TestEdge;
let service: TcpService;
let agent: TestAgent;
let port: number;

before(async () => {
  port = await freePort();
  const { token, object } = newCredential();
  edge = await startTestEdge([object], {
    tcpBind: "127.0.0.1",
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
  });
  service = await startTcpService((socket) => socket.end("hello"));
  agent = await connectAgent(edge, token, service.port, false);
  await agent.label({ app: "db" });
  edge.send({ type: "traffic_wanted", wanted: [{ accountId: "ac_1", types: ["tcp_connection_closed.v0"] }] });
});
after(async () => {
  agent.close();
  await service.stop();
  await edge.edge.stop();
});

function put(kind: "tls_edge" | "tcp_edge", ...rules: readonly object[]): void {
  const traffic_policy = { enabled: true, value: JSON.stringify({ on_tcp_connect: rules }) };
  const host = `db.example.com:${kind === "tls_edge" ? 443 : port}`;
  for (const one of connectionEdge(kind, "db", [host], { traffic_policy })) edge.put(one);
}

/** A TLS client that connects to the edge, and all bytes that it receives. */
async function visitTls(): Promise<string> {
  const socket = connect({
    host: "127.0.0.1",
    port: edge.edge.https.port,
    servername: "db.example.com",
    ca: edge.authority.certificatePem,
  });
  const { text } = await readToEnd(socket);
  socket.destroy();
  return text;
}

const told = new Set<string>();

/** The trace of the connection that is over next, by the id that its event has. */
async function traceOfNext(): Promise<ConnectionTrace> {
  let id = "";
  const message = await edge.report((one) => {
    if (one.type !== "traffic") return false;
    const found = one.reports.find((report) => "protocol" in report && !told.has(report.id));
    if (found && "protocol" in found) id = found.id;
    return found !== undefined;
  });
  assert.ok(message.type === "traffic");
  edge.send({ type: "traffic_taken", batch: message.batch });
  told.add(id);
  const answer = await edge.question({ name: "connection", accountId: "ac_1", id });
  const [trace] = answer.name === "connections" ? answer.connections : [];
  assert.ok(trace, `no trace of connection ${id}`);
  assert.equal(trace.id, id);
  return trace;
}

async function foretold(kind: "tls_edge" | "tcp_edge"): Promise<readonly unknown[]> {
  const question = { name: "explain_connection", accountId: "ac_1", source: "127.0.0.1", kind, siteId: "edg_db" };
  const answer = await edge.question(question as EdgeQuestion);
  assert.ok(answer.name === "explanation", JSON.stringify(answer));
  return answer.explanation.steps.map(byOutcome);
}

const byOutcome = ({ by, outcome, reason }: ConnectionTrace["steps"][number]): unknown[] => [
  by,
  outcome,
  // An explanation describes the effect of its own rules, and a real connection has its own port.
  by === "backend" ? "" : reason,
];

const open = { actions: [{ type: "log", config: { metadata: { who: "${conn.client_ip}" } } }] };
const fails = { expressions: ["int(conn.server_region) == 1"], actions: [{ type: "deny" }] };
const isNot = { expressions: ["conn.client_ip == '192.0.2.1'"], actions: [{ type: "deny" }] };
const denies = { name: "nobody here", actions: [{ type: "restrict-ips", config: { allow: ["192.0.2.0/24"] } }] };

describe("the traces of connections", { timeout: 30_000 }, () => {
  for (const kind of ["tcp_edge", "tls_edge"] as const) {
    const protocol = kind === "tcp_edge" ? "tcp" : "tls";
    const go = async () => (kind === "tcp_edge" ? (await visit(port)).text : await visitTls());

    it(`the traces of connections to a ${protocol} edge contain each rule, as explain predicts, for closed and served connections`, async () => {
      put(kind, open, fails, isNot, denies);
      const beforehand = await foretold(kind);
      await go().catch(() => "");
      const denied = await traceOfNext();
      assert.deepEqual(denied.steps.map(byOutcome), beforehand);
      assert.deepEqual(
        [denied.protocol, denied.outcome, denied.siteId, denied.source, denied.errorCode],
        [protocol, "denied", "edg_db", "127.0.0.1", undefined],
      );
      assert.deepEqual([denied.bytesIn, denied.bytesOut], [0, 0]);
      assert.equal(denied.serverName, kind === "tls_edge" ? "db.example.com" : undefined);
      assert.equal(denied.steps.filter(({ rule }) => rule !== undefined).length, 0, "values are of explanations alone");

      put(kind, open, isNot);
      const served = await foretold(kind);
      assert.equal(await go(), "hello");
      const passed = await traceOfNext();
      assert.deepEqual(passed.steps.map(byOutcome), served);
      assert.deepEqual([passed.outcome, passed.errorCode, passed.bytesOut], ["served", undefined, 5]);
      assert.match(passed.steps.at(-1)?.reason ?? "", /tunnel tn_/);
    });
  }

  it("the traces of connections report why a faulty edge closed them", async () => {
    put("tcp_edge", { actions: [{ type: "restrict-ips", config: { ip_policies: ["ipp_gone"] } }] });
    assert.equal((await visit(port)).text, "");
    const trace = await traceOfNext();
    assert.deepEqual([trace.outcome, trace.steps.at(-1)?.outcome, trace.port], ["broken", "denied", undefined]);
    assert.match(trace.steps.at(-1)?.reason ?? "", /ipp_gone/);
  });

  it("P1: the traces of connections are those of the account alone, newest first", async () => {
    const mine = await edge.question({ name: "connections", accountId: "ac_1", limit: 100, beforeId: undefined });
    assert.ok(mine.name === "connections");
    const ids = mine.connections.map(({ id }) => id);
    assert.ok(ids.length >= 5);
    assert.deepEqual(ids, ids.toSorted().toReversed());
    const others = await edge.question({ name: "connections", accountId: "ac_2", limit: 100, beforeId: undefined });
    assert.deepEqual(others, { name: "connections", connections: [], more: false });
    const foreign = await edge.question({ name: "connection", accountId: "ac_2", id: ids[0] as string });
    assert.deepEqual(foreign, { name: "unknown" });
  });
});
