/** Agents that leave: open requests finish, and no new ones arrive. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { Agent as KeepAlive, request as requestHttps } from "node:https";
import { afterEach, beforeEach, describe, it } from "node:test";
import { text as readText } from "node:stream/consumers";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { movableClock } from "../support/clock.ts";
import type { MovableClock } from "../support/clock.ts";
import { dialPort, freePort } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { connectionEdge, httpsEdge, newCredential } from "../support/objects.ts";
import { host } from "../support/edge-with-agent.ts";
import { openStream } from "../support/open-stream.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startSdk } from "../support/sdk-process.ts";
import { startHttpService, startTcpService } from "../support/services.ts";

const credential = newCredential();
const labels = { app: "shop" };

let edge: TestEdge;
let clock: MovableClock;
/** Responses that the service has begun and not ended. */
let held: ServerResponse[] = [];
let servicePort = 0;
const stops: (() => unknown)[] = [];

beforeEach(async () => {
  clock = movableClock();
  edge = await startTestEdge([credential.object, ...httpsEdge("shop", [host])], {
    clock,
    drainMs: 100,
    limits: { agents: { finishMs: 5_000 } },
  });
  held = [];
  const service = await startHttpService((asked, response) => {
    if (asked.url !== "/held") return void response.end("served");
    response.write("begun, ");
    held.push(response);
  });
  servicePort = service.port;
  stops.push(
    () => edge.edge.stop(),
    () => service.stop(),
  );
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function session(): Promise<TestAgent> {
  const agent = await connectAgent(edge, credential.token, servicePort);
  stops.push(() => agent.close());
  return agent;
}

/** Behind the edge unless it is given a URL. */
async function ourAgent({ finishMs, url }: { finishMs?: number; url?: string } = {}): Promise<OurAgent> {
  const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token: credential.token };
  const agent = await startOurAgent(at, {
    upstream: servicePort,
    ...(url === undefined ? { labels } : { url }),
    ...(finishMs !== undefined && { agent: { finishMs } }),
  });
  stops.push(() => agent.close());
  return agent;
}

const fixture = { connect: (protocol: (typeof protocols)[number]) => edge.connect(protocol, { host }) };

for (const protocol of protocols) {
  describe(`an agent that leaves under load over ${protocol}`, { timeout: 60_000 }, () => {
    it(`an agent that removes its tunnel under load over ${protocol} answers open requests, and gets no new ones`, async () => {
      const agent = await session();
      const id = await agent.label(labels);
      const { stream, close } = await openStream(fixture, protocol, { path: "/held" });
      await agent.session.unbind(id);
      assert.equal((await edge.ask(protocol, { host })).status, 503);
      held[0]?.end("and ended");
      assert.equal(await readText(stream), "begun, and ended");
      close();
    });

    it(`an agent that removes its tunnel under load over ${protocol} has a limited time to answer`, async () => {
      const agent = await session();
      const id = await agent.label(labels);
      const { stream, close } = await openStream(fixture, protocol, { path: "/held" });
      const cut = readText(stream);
      await agent.session.unbind(id);
      clock.move(6_000);
      await assert.rejects(cut);
      close();
    });

    it(`our agent, stopped under load over ${protocol}, ends when open requests have finished`, async () => {
      const agent = await ourAgent();
      assert.equal((await edge.ask(protocol, { host })).text, "served");
      const { stream, close } = await openStream(fixture, protocol, { path: "/held" });
      const order: string[] = [];
      const closed = agent.close().then(() => order.push("agent"));
      await edge.report((report) => report.type === "tunnel_closed");
      order.push("response");
      held[0]?.end("and ended");
      assert.equal(await readText(stream), "begun, and ended");
      await closed;
      assert.deepEqual(order, ["response", "agent"]);
      close();
    });

    it(`our agent, stopped under load over ${protocol}, ends anyway after its time limit`, async () => {
      const agent = await ourAgent({ finishMs: 50 });
      const { stream, close } = await openStream(fixture, protocol, { path: "/held" });
      const cut = readText(stream);
      await agent.close();
      await assert.rejects(cut);
      close();
    });

    for (const [what, name, published] of [
      ["with labels", host, {}],
      ["with a URL", "own.apps.example.com", { url: "https://own.apps.example.com" }],
    ] as const) {
      it(`our agent ${what}, asked to reconnect under load over ${protocol}, serves all the time`, async () => {
        const agent = await ourAgent(published);
        const at = { connect: () => edge.connect(protocol, { host: name }) };
        const { stream, close } = await openStream(at, protocol, { path: "/held", headers: asHost(protocol, name) });
        const first = await edge.report((report) => report.type === "session_opened");
        assert.ok(first.type === "session_opened");
        edge.send({ type: "command", call: 1, sessionId: first.session.id, command: { name: "restart" } });
        const over = new AbortController();
        const moved = agent.online(2).then(() => over.abort());
        while (!over.signal.aborted) assert.equal((await edge.ask(protocol, { host: name })).status, 200);
        await moved;
        held[0]?.end("and ended");
        assert.equal(await readText(stream), "begun, and ended");
        await edge.report((report) => report.type === "session_closed" && report.sessionId === first.session.id);
        assert.equal((await edge.ask(protocol, { host: name })).status, 200);
        close();
      });
    }

    it(`agents that come and go in groups of twenty under load over ${protocol} lose no response`, async () => {
      const agents: OurAgent[] = [];
      for (let count = 0; count < 20; count += 1) agents.push(await ourAgent());
      const over = new AbortController();
      const statuses = new Map<unknown, number>();
      const asking = Array.from({ length: 8 }, async () => {
        const client = await keptClient(protocol);
        while (!over.signal.aborted) {
          const status = await client.ask().catch((error: unknown) => String(error));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
        client.close();
      });
      for (let round = 0; round < 40; round += 1) {
        await agents.shift()?.close();
        agents.push(await ourAgent());
      }
      over.abort();
      await Promise.all(asking);
      assert.deepEqual([...statuses.keys()], [200]);
      assert.ok((statuses.get(200) ?? 0) > 200, String(statuses.get(200)));
    });
  });
}

describe("the public agent SDK when it leaves", { timeout: 60_000 }, () => {
  it("the public agent SDK finishes open requests when it closes a listener", async () => {
    const sdk = await startSdk();
    stops.push(() => sdk.stop());
    const ca = edge.authority.certificatePem;
    await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca, token: credential.token });
    const domain = "sdk.apps.example.com";
    await sdk.ask({ name: "http", domain, target: servicePort });
    const at = { connect: () => edge.connect("h1", { host: domain }) };
    const { stream, close } = await openStream(at, "h1", { path: "/held", headers: { host: domain } });
    await sdk.ask({ name: "closeListener" });
    await edge.report((report) => report.type === "tunnel_closed");
    held[0]?.end("and ended");
    assert.equal(await readText(stream), "begun, and ended");
    close();
  });
});

describe("an agent of TCP tunnels that leaves", { timeout: 60_000 }, () => {
  it("an agent that removes its TCP tunnel keeps open connections for a limited time", async () => {
    const port = await freePort();
    const own = newCredential("cr_2");
    const tcp = await startTestEdge([own.object, ...connectionEdge("tcp_edge", "db", [`localhost:${port}`])], {
      clock,
      tcpBind: "127.0.0.1",
      drainMs: 100,
      limits: { agents: { finishMs: 5_000 } },
    });
    stops.push(() => tcp.edge.stop());
    const echo = await startTcpService((socket) => socket.pipe(socket));
    stops.push(() => echo.stop());
    const agent = await connectAgent(tcp, own.token, echo.port, false);
    const id = await agent.label({ app: "db" });
    const socket = await dialPort(port);
    socket.on("error", () => {});
    socket.write("before");
    await once(socket, "data");
    await agent.session.unbind(id);
    socket.write("after");
    const [bytes] = (await once(socket, "data")) as [Buffer];
    assert.equal(String(bytes), "after");
    const closed = new Promise((done) => socket.once("close", done));
    clock.move(4_000);
    socket.write("moving");
    await once(socket, "data");
    clock.move(2_000);
    await closed;
  });
});

function asHost(protocol: (typeof protocols)[number], name: string): Record<string, string> {
  return protocol === "h1" ? { host: name } : { ":authority": name };
}

/** A client that keeps its connection as long as possible. */
async function keptClient(protocol: (typeof protocols)[number]): Promise<{ ask(): Promise<number>; close(): void }> {
  const socket = await edge.connect(protocol, { host });
  if (protocol === "h2") {
    const http2 = connectHttp2(`https://${host}`, { createConnection: () => socket });
    return {
      async ask() {
        const stream = http2.request({ ":path": "/", ":authority": host });
        const [head] = (await once(stream, "response")) as [Record<string, unknown>];
        await readText(stream);
        return Number(head[":status"]);
      },
      close: () => http2.destroy(),
    };
  }
  const agent = new KeepAlive({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => socket;
  return {
    async ask() {
      const outgoing = requestHttps({ agent, path: "/", headers: { host } }).end();
      const [response] = await once(outgoing, "response");
      await readText(response);
      return response.statusCode;
    },
    close: () => agent.destroy(),
  };
}
