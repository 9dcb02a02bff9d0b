/** A server that stops behind a balancer: no request fails, and agents move before it ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { movableClock } from "../support/clock.ts";
import type { MovableClock } from "../support/clock.ts";
import { host } from "../support/edge-with-agent.ts";
import { freePort } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startHttpService } from "../support/services.ts";
import { Visitor } from "../support/visitor.ts";

const credential = newCredential();
const labels = { app: "shop" };
const stops: (() => unknown)[] = [];
let clock: MovableClock;
let servicePort = 0;

beforeEach(async () => {
  clock = movableClock();
  const service = await startHttpService((_request, response) => response.end("served"));
  servicePort = service.port;
  stops.push(() => service.stop());
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startEdge(drainDelay = 20): Promise<TestEdge> {
  const objects = [credential.object, ...httpsEdge("shop", [host])];
  const edge = await startTestEdge(objects, { clock, drainDelay, drainMs: 15_000 });
  stops.push(() => {
    const ended = edge.edge.stop();
    clock.move(20_000);
    return ended;
  });
  return edge;
}

async function startAgentAt(port: number, edge: TestEdge): Promise<OurAgent> {
  const at = { port, ca: edge.authority.certificatePem, token: credential.token };
  const agent = await startOurAgent(at, { upstream: servicePort, labels, agent: { finishMs: 100 } });
  stops.push(() => agent.close());
  return agent;
}

/** Forwards new connections to the port in `target`. */
async function startBalancer(target: () => number): Promise<number> {
  const balancer = createServer((socket) => {
    const onward = connect(target(), "127.0.0.1");
    for (const one of [socket, onward]) one.on("error", () => {});
    socket.pipe(onward).pipe(socket);
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroy());
  });
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  stops.push(() => balancer.close());
  return (balancer.address() as AddressInfo).port;
}

function sessionsClosed(edge: TestEdge): number {
  return edge.reports.filter(({ type }) => type === "session_closed").length;
}

for (const protocol of protocols) {
  describe(`a server that stops under load over ${protocol}`, { timeout: 60_000 }, () => {
    it(`S5: a server that stops under load over ${protocol} answers every request until it accepts no connections`, async () => {
      // A clock that is moved would end connections that are just made.
      const edge = await startEdge(1);
      await startAgentAt(edge.edge.agent.port, edge);
      const clients = Array.from({ length: 4 }, () => visitorOf(edge, protocol));
      const asking = clients.map((client) => client.run());
      while (clients.some(({ answers }) => answers < 5)) await new Promise(setImmediate);
      const stopped = edge.edge.stop();
      await edge.report(({ type }) => type === "draining");
      await Promise.all(asking);
      // Those from before were given up, and others have been made since.
      const connections = clients.map((client) => client.connections);
      assert.ok(Math.min(...connections) > 1, connections.join());
      await stopped;
      assert.deepEqual(
        clients.flatMap(({ failures }) => failures),
        [],
      );
    });

    it(`S5: a server that stops under load over ${protocol} moves its agents first, and keeps their old sessions until its visitors have finished`, async () => {
      const [one, other] = [await startEdge(), await startEdge()];
      let present = one;
      const agent = await startAgentAt(await startBalancer(() => present.edge.agent.port), one);
      assert.equal((await one.ask(protocol, { host })).status, 200);
      present = other;
      const stopped = one.edge.stop();
      await one.report(({ type }) => type === "draining");
      clock.move(1_000);
      await agent.online(2);
      // It is at both.
      assert.equal((await one.ask(protocol, { host })).status, 200);
      assert.equal((await other.ask(protocol, { host })).status, 200);
      assert.equal(sessionsClosed(one), 0);
      clock.move(20_000);
      await stopped;
      assert.equal((await other.ask(protocol, { host })).status, 200);
      assert.deepEqual(
        agent.statuses.filter(({ state }) => state === "waiting"),
        [],
      );
    });

    it(`a server that stops alone under load over ${protocol} keeps its agents until its visitors have finished`, async () => {
      const edge = await startEdge();
      const agent = await startAgentAt(edge.edge.agent.port, edge);
      const stopped = edge.edge.stop();
      await edge.report(({ type }) => type === "draining");
      clock.move(1_000);
      for (let count = 0; count < 20; count += 1) assert.equal((await edge.ask(protocol, { host })).status, 200);
      assert.deepEqual([agent.statuses.at(-1)?.state, sessionsClosed(edge)], ["online", 0]);
      clock.move(20_000);
      await stopped;
      assert.equal(sessionsClosed(edge), 1);
    });
  });
}

describe("an agent with several addresses of its server", { timeout: 60_000 }, () => {
  it("an agent with several addresses moves to the next one when a server is silent or about to stop, with a session there first", async () => {
    const [one, other] = [await startEdge(), await startEdge()];
    const at = { ca: one.authority.certificatePem, token: credential.token };
    const places = [one, other].map(({ edge }) => ({ host: "127.0.0.1", port: edge.agent.port }));
    const silent = await freePort();
    const agent = await startOurAgent(
      { port: silent, ...at },
      { upstream: servicePort, labels, agent: { finishMs: 100, otherServers: places } },
    );
    stops.push(() => agent.close());
    assert.equal((await one.ask("h1", { host })).status, 200);
    const stopped = one.edge.stop();
    await one.report(({ type }) => type === "draining");
    clock.move(1_000);
    await agent.online(2);
    assert.deepEqual([(await one.ask("h1", { host })).status, (await other.ask("h1", { host })).status], [200, 200]);
    clock.move(20_000);
    await stopped;
    assert.equal((await other.ask("h1", { host })).status, 200);
  });
});

describe("a server that stops while agents connect", { timeout: 60_000 }, () => {
  it("a server that stops asks agents to move one after the other, and accepts none of our agents", async () => {
    const edge = await startEdge();
    const agents = [];
    for (let count = 0; count < 4; count += 1) agents.push(await startAgentAt(edge.edge.agent.port, edge));
    const stopped = edge.edge.stop();
    await edge.report(({ type }) => type === "draining");
    const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token: credential.token };
    const late = await startOurAgent(at, { upstream: servicePort, labels, offline: true });
    stops.push(() => late.close());
    assert.match((await late.ended).message, /server is stopping/);
    clock.move(20_000);
    await stopped;
  });
});

/** Sends requests until no connection can be made. */
function visitorOf(edge: TestEdge, protocol: Protocol): Visitor {
  return new Visitor({
    protocol,
    host,
    text: "served",
    connect: () =>
      edge.connect(protocol, { host }).catch((error: NodeJS.ErrnoException) => {
        // Connections that the system has not handed to the server are reset when the listener closes.
        if (error.code === "ECONNREFUSED" || error.code === "ECONNRESET") return undefined;
        throw error;
      }),
  });
}
