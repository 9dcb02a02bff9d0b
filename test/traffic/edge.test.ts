import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import type { AddressInfo } from "node:net";
import { after, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect } from "node:tls";
import { startAgent } from "../../src/agent/agent.ts";
import type { Agent } from "../../src/agent/agent.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { edgeObjects, newCredential, startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";

const stops: (() => unknown)[] = [];
after(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function startUpstream(handler: Parameters<typeof createServer>[1]): Promise<number> {
  const server: Server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** An agent that publishes `port` under labels, or at a URL; resolves with the URL when it is online. */
async function publish(edge: TestEdge, token: string, port: number, labels?: Record<string, string>, url?: string) {
  const online = Promise.withResolvers<string | undefined>();
  const agent: Agent = startAgent({
    server: { host: "127.0.0.1", port: edge.edge.agent.port },
    ca: edge.authority.certificatePem,
    token,
    upstream: parseUpstream(`http://127.0.0.1:${port}`),
    metadata: "",
    publish: labels ? { kind: "labels", labels } : { kind: "url", url },
    version: "0.0.0",
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    retryFirst: true,
    status: (status) => {
      if (status.state === "online") online.resolve(status.url);
    },
    request: undefined,
  });
  void agent.ended.then((end) => online.reject(new Error(JSON.stringify(end))));
  stops.push(() => agent.close());
  return { agent, url: await online.promise };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function get(edge: TestEdge, host: string, path = "/", options: object = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      path,
      servername: host,
      ca: edge.authority.certificatePem,
      agent: false,
      ...options,
      headers: { host, ...(options as { headers?: object }).headers },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      response.on("error", reject);
    });
    outgoing.end();
  });
}

const token = newCredential();
const echo = await startUpstream((incoming, response) => {
  response.end(JSON.stringify({ url: incoming.url, headers: incoming.headers }));
});

describe("the edge", () => {
  it("the edge carries a request through edge, tunnel and agent to the service, and its answer back", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { app: "shop" });
    const answer = await get(edge, "shop.example.com", "/a?b");
    assert.equal(answer.status, 200);
    const seen = JSON.parse(answer.body) as { url: string; headers: Record<string, string> };
    assert.equal(seen.url, "/a?b");
    assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
    assert.equal(seen.headers["x-forwarded-proto"], "https");
  });

  it("the edge speaks HTTP/2 with clients that offer it", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { app: "shop" });
    const session = connectHttp2(`https://shop.example.com:${edge.edge.https.port}`, {
      ca: edge.authority.certificatePem,
      lookup: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    });
    const stream = session.request({ ":path": "/over-h2" });
    let body = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    const [headers] = (await once(stream, "response")) as [Record<string, number>];
    assert.equal(headers[":status"], 200);
    await once(stream, "end");
    assert.equal((JSON.parse(body) as { url: string }).url, "/over-h2");
    const draining = once(session, "goaway");
    const stopped = edge.edge.stop();
    await draining;
    await stopped;
  });

  it("the edge publishes an agent at an address of its own", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    const { url } = await publish(edge, token.token, echo, undefined, "https://mine.apps.example.com");
    assert.equal(url, `https://mine.apps.example.com:${edge.edge.https.port}`);
    assert.equal((await get(edge, "mine.apps.example.com")).status, 200);
    const opened = await edge.report((message) => message.type === "tunnel_opened");
    assert.ok(opened.type === "tunnel_opened" && opened.tunnel.endpoint?.publicUrl === url);
  });

  it("R5: the edge keeps an agent's address from a wildcard edge, and gives it to an edge with that very name", async () => {
    const name = "mine.apps.example.com";
    const edge = await startTestEdge([token.object, ...edgeObjects("wild", ["*.apps.example.com"])]);
    stops.push(() => edge.edge.stop());
    assert.equal((await get(edge, name)).status, 503);
    await publish(edge, token.token, echo, undefined, `https://${name}`);
    assert.equal((await get(edge, name)).status, 200);
    assert.equal((await get(edge, "else.apps.example.com")).status, 503);
    for (const object of edgeObjects("exact", [name])) edge.put(object);
    assert.equal((await get(edge, name)).status, 503);
  });

  it("the edge shows a page for names under its domain that lead nowhere, and 421 without the right server name", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    const nothing = await get(edge, "gone.apps.example.com", "/", { headers: { accept: "text/html" } });
    assert.equal(nothing.status, 404);
    assert.match(nothing.headers["content-type"] ?? "", /^text\/html/);
    assert.match(nothing.body, new RegExp(errorCode("unknown_host")));
    const other = await get(edge, "shop.example.com", "/", { servername: "gone.apps.example.com" });
    assert.equal(other.status, 421);
    const nameless = await get(edge, "shop.example.com", "/", { servername: "", rejectUnauthorized: false });
    assert.equal(nameless.status, 421);
  });

  it("K1: the edge puts a change of the minimum version into effect at once, also for connections that are open", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { app: "shop" });
    const old = { maxVersion: "TLSv1.2" };
    assert.equal((await get(edge, "shop.example.com", "/", old)).status, 200);
    const socket = connect({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: "shop.example.com",
      ca: edge.authority.certificatePem,
      maxVersion: "TLSv1.2",
    });
    await once(socket, "secureConnect");
    const [, changed] = edgeObjects("shop", ["shop.example.com"], {
      tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.3" },
    });
    assert.ok(changed);
    edge.put(changed);
    await assert.rejects(get(edge, "shop.example.com", "/", old), /protocol version/);
    assert.equal((await get(edge, "shop.example.com")).status, 200);
    socket.write("GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 421 /);
    socket.destroy();
  });

  it("the edge takes an edge away, and the agent's token", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { app: "shop" });
    assert.equal((await get(edge, "shop.example.com")).status, 200);
    edge.remove("credential", "cr_1");
    await edge.report((message) => message.type === "session_closed");
    assert.equal((await get(edge, "shop.example.com")).status, 503);
    edge.remove("https_edge", "edghts_shop");
    await assert.rejects(get(edge, "shop.example.com"), /unrecognized name/);
  });

  it("the edge tells no agent that its token is unknown before it has its configuration", async () => {
    const metrics = makeMetrics();
    const edge = await startTestEdge(null, { metrics });
    stops.push(() => edge.edge.stop());
    const arriving = publish(edge, token.token, echo, { app: "shop" });
    const asking = get(edge, "gone.apps.example.com");
    while (!/connections_open\{listener="agent"\} 1/.test(metrics.render())) await turn();
    while (!/connections_open\{listener="https"\} 1/.test(metrics.render())) await turn();
    const objects = [token.object, ...edgeObjects("shop", ["shop.example.com"])];
    edge.send({ type: "snapshot", revision: 7, objects: objects.slice(0, 2), last: false });
    edge.send({ type: "snapshot", revision: 7, objects: objects.slice(2), last: true });
    await arriving;
    assert.equal((await asking).status, 404);
    assert.equal((await get(edge, "shop.example.com")).status, 200);
    assert.ok(edge.reports.some((message) => message.type === "applied" && message.revision === 7));
  });

  it("the edge says hello, what it has applied, and what it could not put into effect", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    assert.equal(edge.reports[0]?.type, "hello");
    const [, site] = edgeObjects("shop", ["shop.example.com"]);
    const route = {
      kind: "https_edge_route",
      id: "edghtsrt_1",
      doc: {
        edge_id: "edghts_shop",
        match_type: "path_prefix",
        match: "/",
        backend: { enabled: true, backend_id: "bkdtg_none" },
      },
    };
    assert.ok(site);
    edge.put(site);
    edge.put(route);
    const report = await edge.report((message) => message.type === "problems");
    assert.ok(report.type === "problems");
    assert.equal(report.problems[0]?.id, "edghtsrt_1");
    assert.equal(report.problems[0]?.module, "backend");
    assert.deepEqual(edge.reports.at(-1), { type: "applied", revision: 2 });
    assert.equal((await get(edge, "shop.example.com")).status, 500);
  });

  it("the edge answers commands and shows its metrics", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    edge.send({ type: "command", call: 3, sessionId: "ts_none", command: { name: "stop" } });
    const result = await edge.report((message) => message.type === "command_result");
    assert.ok(result.type === "command_result" && result.call === 3 && result.error?.reason === "not_found");
    await get(edge, "gone.apps.example.com");
    edge.send({ type: "metrics_request", call: 4 });
    const metrics = await edge.report((message) => message.type === "metrics");
    assert.ok(metrics.type === "metrics" && metrics.call === 4);
    assert.match(metrics.text, /postern_tls_handshakes_total\{result="completed"\} 1/);
  });

  it("the edge redirects plain HTTP to the public port", async () => {
    const edge = await startTestEdge([]);
    stops.push(() => edge.edge.stop());
    const answer = await fetchPlain(edge.edge.http?.port ?? 0, "shop.example.com");
    assert.match(answer, new RegExp(`Location: https://shop.example.com:${edge.edge.https.port}/x\r\n`));
  });

  it("S5: the edge lets what is in flight end before it stops, and takes nothing new", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("slow", ["slow.example.com"])]);
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const port = await startUpstream((_incoming, response) => {
      response.write("first, ");
      arrived.resolve();
      void release.promise.then(() => response.end("last"));
    });
    const { agent } = await publish(edge, token.token, port, { app: "slow" });
    const running = get(edge, "slow.example.com");
    await arrived.promise;
    const idle = connect({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: "slow.example.com",
      ca: edge.authority.certificatePem,
    });
    await once(
      idle.on("error", () => undefined),
      "secureConnect",
    );
    const idleClosed = once(idle.resume(), "close");
    const stopped = edge.edge.stop();
    await idleClosed;
    await assert.rejects(get(edge, "slow.example.com"), { code: "ECONNREFUSED" });
    release.resolve();
    assert.equal((await running).body, "first, last");
    await stopped;
    await agent.close();
  });

  it("the edge stops within its bound although a response never ends", async () => {
    const edge = await startTestEdge([token.object, ...edgeObjects("slow", ["slow.example.com"])], { drainMs: 100 });
    const arrived = Promise.withResolvers<void>();
    const port = await startUpstream((_incoming, response) => {
      response.write("first, ");
      arrived.resolve();
    });
    const { agent } = await publish(edge, token.token, port, { app: "slow" });
    const running = get(edge, "slow.example.com");
    running.catch(() => undefined);
    await arrived.promise;
    await edge.edge.stop();
    await assert.rejects(running);
    await agent.close();
  });

  it("the edge leaves nothing open when one of its addresses is taken", async () => {
    const first = await startTestEdge([]);
    stops.push(() => first.edge.stop());
    const taken = { host: "127.0.0.1", port: first.edge.agent.port };
    await assert.rejects(startTestEdge([], { agentListen: taken }), { code: "EADDRINUSE", port: taken.port });
  });
});

async function fetchPlain(port: number, host: string): Promise<string> {
  const socket = connectTcp({ host: "127.0.0.1", port });
  socket.write(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  await once(socket, "close");
  return text;
}
