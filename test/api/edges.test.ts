import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { SessionReport, TunnelReport } from "../../src/directory/agent-reports.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import type { RequestTrace } from "../../src/routing/planes/edge-questions.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("a control plane with two edges", () => {
  const clock = makeManualClock();
  let api: TestApi;
  let accountId: string;
  before(async () => {
    api = await startApi(sqlite, { clock, edgeCount: 2 });
    accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
    for (const [at, edge] of api.edges.entries()) {
      edge.send({ type: "hello", edgeId: `edge_${at}` });
      edge.send({ type: "applied", revision: snapshotOf(edge.received) });
    }
  });
  after(() => api.stop());

  const each = (message: (at: number) => Upward): void => {
    for (const [at, edge] of api.edges.entries()) edge.send(message(at));
  };

  it("a control plane with two edges sends each its own snapshot, and every change to both", async () => {
    await api.request("POST", "/ip_policies", { body: { description: "for both" } });
    const told = api.edges.map(({ received }) => received.filter((message) => message.type === "changes").at(-1));
    assert.ok(told[0]);
    assert.deepEqual(told[0], told[1]);
    assert.deepEqual(
      api.edges.map(({ received }) => received.filter((message) => message.type === "snapshot").length),
      [1, 1],
    );
  });

  it("a control plane with two edges sends a snapshot only to the edge that was started again", async () => {
    const before = api.edges.map(({ received }) => received.length);
    api.edges[1]?.send({ type: "hello", edgeId: "edge_again" });
    assert.equal(api.edges[0]?.received.length, before[0]);
    assert.deepEqual(
      api.edges.map(({ received }) => received.filter((message) => message.type === "snapshot").length),
      [1, 2],
    );
    api.edges[1]?.send({ type: "applied", revision: snapshotOf(api.edges[1].received) });
    assert.equal((await api.request("GET", "/readyz")).status, 200);
  });

  it("P1: a control plane with two edges lists each problem of the edges once, only to keys that may see all of the account", async () => {
    const policy = await api.ok("POST", "/ip_policies", { metadata: "team-a" });
    const told = { kind: "ip_policy", id: policy.id, accountId, module: undefined, message: "it does not compile" };
    each(() => ({ type: "problems", problems: [told, { ...told, accountId: "ac_other", id: id("ipp", 1) }] }));
    const shown = { kind: told.kind, id: told.id, uri: policy.uri, module: null, message: told.message };
    assert.deepEqual((await api.ok("GET", "/problems")).problems, [shown]);
    const { api_key: stranger } = await api.ok("POST", "/accounts", { name: "stranger" });
    const { token: narrow } = await api.ok("POST", "/api_keys", { scopes: ["read", "metadata:team-b"] });
    assert.deepEqual((await api.ok("GET", "/problems", undefined, stranger)).problems, []);
    assert.equal((await api.request("GET", "/problems", { key: narrow })).body.error_code, errorCode("scope_missing"));
    each(() => ({ type: "problems", problems: [{ ...told, message: undefined }] }));
    assert.deepEqual((await api.ok("GET", "/problems")).problems, []);
  });

  it("a control plane with two edges names the edge that is behind while a client waits, until both serve the write", async () => {
    const write = (wait: string) =>
      api.request("POST", "/ip_policies", { body: {}, headers: { prefer: `wait=${wait}` } });
    for (const edge of api.edges) edge.answer = undefined;
    const [first] = api.edges;
    const serving = (message: Downward): Upward | undefined =>
      message.type === "changes" ? { type: "applied", revision: message.revision } : undefined;
    if (first) first.answer = serving;
    const timers = clock.pending;
    const answered = write("5");
    while (clock.pending === timers) await turn();
    // The first edge's word that it serves the write is on its way.
    await turn();
    await turn();
    clock.pass(5_000);
    const late = await answered;
    assert.equal(late.headers["postern-applied"], "false");
    assert.equal(late.headers["postern-edges-behind"], "edge_again");
    for (const edge of api.edges) edge.answer = serving;
    assert.equal((await write("5")).headers["postern-applied"], "true");
  });

  it("a control plane with two edges lists the agents of both, and forgets only those of an edge that was started again", async () => {
    each((at) => ({ type: "session_opened", session: session(id("ts", at), accountId) }));
    each((at) => ({ type: "tunnel_opened", tunnel: tunnel(id("tn", at), id("ts", at), accountId) }));
    const ids = async (path: string, key: string): Promise<readonly string[]> =>
      (await api.request("GET", path)).body[key].map((one: { id: string }) => one.id).sort();
    assert.deepEqual(await ids("/tunnel_sessions", "tunnel_sessions"), [id("ts", 0), id("ts", 1)]);
    assert.deepEqual(await ids("/tunnels", "tunnels"), [id("tn", 0), id("tn", 1)]);
    api.edges[1]?.send({ type: "hello", edgeId: "edge_third" });
    assert.deepEqual(await ids("/tunnel_sessions", "tunnel_sessions"), [id("ts", 0)]);
    assert.deepEqual(await ids("/tunnels", "tunnels"), [id("tn", 0)]);
  });

  it("a control plane with two edges shows a tunnel that moved to one of them, even if the other reports late", async () => {
    const [first, second] = api.edges;
    const moved = tunnel(id("tn", 20), id("ts", 20), accountId);
    for (const edge of [first, second]) {
      edge?.send({ type: "session_opened", session: session(id("ts", 20), accountId) });
      edge?.send({ type: "tunnel_opened", tunnel: moved });
    }
    first?.send({ type: "tunnel_closed", tunnelId: moved.id });
    first?.send({ type: "session_closed", sessionId: moved.sessionId });
    assert.equal((await api.request("GET", `/tunnels/${moved.id}`)).status, 200);
    assert.equal((await api.request("GET", `/tunnel_sessions/${moved.sessionId}`)).status, 200);
    second?.send({ type: "tunnel_closed", tunnelId: moved.id });
    second?.send({ type: "session_closed", sessionId: moved.sessionId });
    assert.equal((await api.request("GET", `/tunnels/${moved.id}`)).status, 404);
  });

  it("a control plane with two edges forgets one that has gone, with its agents, and stops waiting for it", async () => {
    const [first, second] = api.edges;
    second?.send({ type: "session_opened", session: session(id("ts", 21), accountId) });
    const answers = api.edges.map(({ answer }) => answer);
    if (first)
      first.answer = (message) =>
        message.type === "changes" ? { type: "applied", revision: message.revision } : undefined;
    if (second) second.answer = undefined;
    second?.send({ type: "gone" });
    assert.equal((await api.request("GET", `/tunnel_sessions/${id("ts", 21)}`)).status, 404);
    const headers = { prefer: "wait=5" };
    const write = await api.request("POST", "/ip_policies", { body: {}, headers });
    assert.equal(write.headers["postern-applied"], "true");
    second?.send({ type: "hello", edgeId: "edge_back" });
    if (second) second.send({ type: "applied", revision: snapshotOf(second.received) });
    for (const [at, edge] of api.edges.entries()) edge.answer = answers[at];
  });

  it("a control plane with two edges sends a command to the edge at which the agent is connected", async () => {
    api.edges[1]?.send({ type: "session_opened", session: session(id("ts", 9), accountId) });
    for (const edge of api.edges) {
      edge.answer = (message) =>
        message.type === "command" ? { type: "command_result", call: message.call } : undefined;
    }
    assert.equal((await api.request("POST", `/tunnel_sessions/${id("ts", 9)}/stop`)).status, 204);
    const commands = api.edges.map(({ received }) => received.filter(({ type }) => type === "command").length);
    assert.deepEqual(commands, [0, 1]);
  });

  it("a control plane with two edges lists the requests of both, newest first, and finds one wherever it ended", async () => {
    for (const [at, edge] of api.edges.entries()) {
      const kept = [trace(id("req", at + 4)), trace(id("req", at + 2)), trace(id("req", at))];
      edge.answer = (message) => {
        if (message.type !== "question") return undefined;
        const { call, question } = message;
        const requests =
          question.name === "request"
            ? kept.filter((one) => one.id === question.id)
            : question.name === "requests"
              ? kept
              : [];
        const answer =
          requests.length === 0
            ? ({ name: "unknown" } as const)
            : ({ name: "requests", requests, more: false } as const);
        return { type: "answer", call, answer };
      };
    }
    const list = await api.request("GET", "/requests?limit=4");
    assert.deepEqual(
      list.body.requests.map((one: { id: string }) => one.id),
      [id("req", 5), id("req", 4), id("req", 3), id("req", 2)],
    );
    assert.match(list.body.next_page_uri, new RegExp(`before_id=${id("req", 2)}`));
    assert.equal((await api.request("GET", `/requests/${id("req", 1)}`)).body.id, id("req", 1));
    assert.equal((await api.request("GET", `/requests/${id("req", 9)}`)).status, 404);
  });

  it("a control plane with two edges shows the metrics of each under its number", async () => {
    for (const edge of api.edges) {
      edge.answer = (message) =>
        message.type === "metrics_request" ? { type: "metrics", call: message.call, text: exposition } : undefined;
    }
    const { text } = await api.request("GET", "/metrics");
    for (const edge of [1, 2]) {
      assert.match(text, new RegExp(`^postern_edge_requests_total\\{status="2xx",edge="${edge}"\\} 3$`, "m"));
      assert.match(text, new RegExp(`^postern_edge_open\\{edge="${edge}"\\} 1$`, "m"));
    }
    assert.equal(text.match(/# TYPE postern_edge_requests_total counter/g)?.length, 1);
  });
});

/** Sorts by `count`. */
function id(prefix: string, count: number): string {
  return `${prefix}_${String(count).padStart(27, "0")}`;
}

const exposition = `# HELP postern_edge_requests_total Requests.
# TYPE postern_edge_requests_total counter
postern_edge_requests_total{status="2xx"} 3
# HELP postern_edge_open Open connections.
# TYPE postern_edge_open gauge
postern_edge_open 1
`;

function snapshotOf(received: readonly Downward[]): number {
  const last = received.findLast((message) => message.type === "snapshot");
  return last?.type === "snapshot" ? last.revision : 0;
}

function session(sessionId: string, accountId: string): SessionReport {
  return {
    id: sessionId,
    accountId,
    credentialId: id("cr", 1),
    agentVersion: "1",
    ip: "192.0.2.1",
    os: "linux",
    metadata: "",
    region: "local",
    startedAt: "2026-01-01T00:00:00Z",
    transport: "ngrok/2",
  };
}

function tunnel(tunnelId: string, sessionId: string, accountId: string): TunnelReport {
  return {
    id: tunnelId,
    accountId,
    sessionId,
    credentialId: id("cr", 1),
    startedAt: "2026-01-01T00:00:00Z",
    metadata: "",
    forwardsTo: "http://localhost:80",
    region: "local",
    labels: { app: "web" },
  };
}

function trace(id: string): RequestTrace {
  return {
    id,
    endedAt: 0,
    method: "GET",
    host: "a.test",
    path: "/",
    source: "192.0.2.1",
    siteId: "edghts_1",
    routeId: undefined,
    tunnel: undefined,
    outcome: "denied",
    status: 403,
    errorCode: undefined,
    durationMs: 1,
    upstreamMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    cutShort: false,
    steps: [],
  };
}
