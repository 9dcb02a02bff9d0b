import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { after, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect } from "node:tls";
import { errorCode } from "../../src/lib/errors.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgentOptions } from "../support/our-agent.ts";
import { startHttpService } from "../support/services.ts";

const stops: (() => unknown)[] = [];
after(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function serve(answer: RequestListener): Promise<number> {
  const service = await startHttpService(answer);
  stops.push(() => service.stop());
  return service.port;
}

/** An agent that publishes `port`, and is online. */
async function publish(edge: TestEdge, token: string, port: number, at: Pick<OurAgentOptions, "labels" | "url">) {
  const listener = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token };
  const agent = await startOurAgent(listener, { upstream: port, ...at, agent: { retryFirst: true } });
  stops.push(() => agent.close());
  return agent;
}

const token = newCredential();
const echo = await serve((incoming, response) => {
  response.end(JSON.stringify({ url: incoming.url, headers: incoming.headers }));
});

describe("the edge", () => {
  it("the edge carries a request through edge, tunnel and agent to the service, and its answer back", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { labels: { app: "shop" } });
    const answer = await edge.ask("h1", { host: "shop.example.com", path: "/a?b" });
    assert.equal(answer.status, 200);
    const seen = JSON.parse(answer.text) as { url: string; headers: Record<string, string> };
    assert.equal(seen.url, "/a?b");
    assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
    assert.equal(seen.headers["x-forwarded-proto"], "https");
  });

  it("the edge speaks HTTP/2 with clients that offer it", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { labels: { app: "shop" } });
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

  it("the edge publishes an agent at its own address", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    const { url } = await publish(edge, token.token, echo, { url: "https://mine.apps.example.com" });
    assert.equal(url, `https://mine.apps.example.com:${edge.edge.https.port}`);
    assert.equal((await edge.ask("h1", { host: "mine.apps.example.com" })).status, 200);
    const opened = await edge.report((message) => message.type === "tunnel_opened");
    assert.ok(opened.type === "tunnel_opened" && opened.tunnel.endpoint?.publicUrl === url);
  });

  it("R5: the edge refuses an agent's address to a wildcard edge, and gives it to an edge with exactly that name", async () => {
    const name = "mine.apps.example.com";
    const edge = await startTestEdge([token.object, ...httpsEdge("wild", ["*.apps.example.com"])]);
    stops.push(() => edge.edge.stop());
    assert.equal((await edge.ask("h1", { host: name })).status, 503);
    await publish(edge, token.token, echo, { url: `https://${name}` });
    assert.equal((await edge.ask("h1", { host: name })).status, 200);
    assert.equal((await edge.ask("h1", { host: "else.apps.example.com" })).status, 503);
    for (const object of httpsEdge("exact", [name])) edge.put(object);
    assert.equal((await edge.ask("h1", { host: name })).status, 503);
  });

  it("the edge shows a page for names under its domain that lead nowhere, and 421 without the right server name", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    const nothing = await edge.ask("h1", { host: "gone.apps.example.com", headers: { accept: "text/html" } });
    assert.equal(nothing.status, 404);
    assert.match(nothing.headers["content-type"] ?? "", /^text\/html/);
    assert.match(nothing.text, new RegExp(errorCode("unknown_host")));
    const other = await edge.ask("h1", { host: "shop.example.com", serverName: "gone.apps.example.com" });
    assert.equal(other.status, 421);
    const nameless = await edge.ask("h1", {
      host: "shop.example.com",
      serverName: "",
      tls: { rejectUnauthorized: false },
    });
    assert.equal(nameless.status, 421);
  });

  it("K1: the edge applies a change of the minimum TLS version immediately, even to open connections", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { labels: { app: "shop" } });
    const old = { maxVersion: "TLSv1.2" } as const;
    assert.equal((await edge.ask("h1", { host: "shop.example.com", tls: old })).status, 200);
    const socket = connect({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: "shop.example.com",
      ca: edge.authority.certificatePem,
      maxVersion: "TLSv1.2",
    });
    await once(socket, "secureConnect");
    const [, changed] = httpsEdge("shop", ["shop.example.com"], {
      tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.3" },
    });
    assert.ok(changed);
    edge.put(changed);
    await assert.rejects(edge.ask("h1", { host: "shop.example.com", tls: old }), /protocol version/);
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 200);
    socket.write("GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 421 /);
    socket.destroy();
  });

  it("the edge removes an edge, and the agent's token", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("shop", ["shop.example.com"])]);
    stops.push(() => edge.edge.stop());
    await publish(edge, token.token, echo, { labels: { app: "shop" } });
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 200);
    edge.remove("credential", "cr_1");
    await edge.report((message) => message.type === "session_closed");
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 503);
    edge.remove("https_edge", "edghts_shop");
    await assert.rejects(edge.ask("h1", { host: "shop.example.com" }), /unrecognized name/);
  });

  it("the edge does not report a token as unknown before it has its configuration", async () => {
    const metrics = makeMetrics();
    const edge = await startTestEdge(null, { metrics });
    stops.push(() => edge.edge.stop());
    const arriving = publish(edge, token.token, echo, { labels: { app: "shop" } });
    const asking = edge.ask("h1", { host: "gone.apps.example.com" });
    while (!/connections_open\{listener="agent"\} 1/.test(metrics.render())) await turn();
    while (!/connections_open\{listener="https"\} 1/.test(metrics.render())) await turn();
    const objects = [token.object, ...httpsEdge("shop", ["shop.example.com"])];
    edge.send({ type: "snapshot", revision: 7, objects: objects.slice(0, 2), last: false });
    edge.send({ type: "snapshot", revision: 7, objects: objects.slice(2), last: true });
    await arriving;
    assert.equal((await asking).status, 404);
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 200);
    assert.ok(edge.reports.some((message) => message.type === "applied" && message.revision === 7));
  });

  it("the edge reports its start, its applied revision, and configuration that it could not apply", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    assert.equal(edge.reports[0]?.type, "hello");
    const [, site] = httpsEdge("shop", ["shop.example.com"]);
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
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 500);
  });

  it("the edge answers commands and shows its metrics", async () => {
    const edge = await startTestEdge([token.object]);
    stops.push(() => edge.edge.stop());
    edge.send({ type: "command", call: 3, sessionId: "ts_none", command: { name: "stop" } });
    const result = await edge.report((message) => message.type === "command_result");
    assert.ok(result.type === "command_result" && result.call === 3 && result.error?.reason === "not_found");
    await edge.ask("h1", { host: "gone.apps.example.com" });
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

  it("S5: the edge finishes open requests before it stops, and accepts no new ones", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("slow", ["slow.example.com"])]);
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const port = await serve((_incoming, response) => {
      response.write("first, ");
      arrived.resolve();
      void release.promise.then(() => response.end("last"));
    });
    const agent = await publish(edge, token.token, port, { labels: { app: "slow" } });
    const running = edge.ask("h1", { host: "slow.example.com" });
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
    await assert.rejects(edge.ask("h1", { host: "slow.example.com" }), { code: "ECONNREFUSED" });
    release.resolve();
    assert.equal((await running).text, "first, last");
    await stopped;
    await agent.close();
  });

  it("the edge stops within its bound although a response never ends", async () => {
    const edge = await startTestEdge([token.object, ...httpsEdge("slow", ["slow.example.com"])], { drainMs: 100 });
    const arrived = Promise.withResolvers<void>();
    const port = await serve((_incoming, response) => {
      response.write("first, ");
      arrived.resolve();
    });
    const agent = await publish(edge, token.token, port, { labels: { app: "slow" } });
    const running = edge.ask("h1", { host: "slow.example.com" });
    running.catch(() => undefined);
    await arrived.promise;
    await edge.edge.stop();
    await assert.rejects(running);
    await agent.close();
  });

  it("the edge closes everything if one of its addresses is in use", async () => {
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
