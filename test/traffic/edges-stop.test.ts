/** Several edges that stop: the agents of one edge serve all visitors until the last response. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { movableClock } from "../support/clock.ts";
import { connectAgent } from "../support/agents.ts";
import { host } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { metricSum } from "../support/metrics.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { startPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import { startTwoEdges } from "../support/two-edges.ts";

for (const http of protocols) {
  it(`edges that stop wait for the visitors of all of them, over ${http}`, async () => {
    const platform = await startPlatform({ edges: 2, drainMs: 20_000 });
    const held: ServerResponse[] = [];
    let came = (): void => {};
    const service = await startHttpService((_request, response) => {
      held.push(response);
      came();
    });
    const agent = await platform.startAgent({ upstream: service.port, agent: { connections: 1 } });
    const visits: ReturnType<typeof platform.request>[] = [];
    const overPeerLine = async (): Promise<number> => {
      const { text } = await platform.api("GET", "/metrics");
      return metricSum(text, "postern_peer_streams_total");
    };
    // The visitors of the agent's own edge have their responses, so this edge has none of its own to wait for.
    while (visits.length < 2) {
      const before = await overPeerLine();
      const arrived = new Promise<void>((resolve) => (came = resolve));
      const visit = platform.request(agent.url, { http });
      await arrived;
      if ((await overPeerLine()) > before) visits.push(visit);
      else {
        held.pop()?.end("at once");
        await visit;
      }
    }
    const stopped = platform.stopServer();
    while (await accepts(platform.httpsPort));
    for (const response of held) response.end("late");
    const answers = await Promise.all(visits);
    assert.deepEqual(
      answers.map(({ status, text }) => `${status} ${text}`),
      visits.map(() => "200 late"),
    );
    await stopped;
    await agent.close();
    await service.stop();
    await platform.stop();
  });
}

describe("a node that stops", { timeout: 60_000 }, () => {
  const { token, object } = newCredential();
  const objects = [object, ...httpsEdge("shop", [host])];

  it("a node that stops waits for other nodes' visitors who use its agents", async (test) => {
    const both = await startTwoEdges(objects, { drainMs: 20_000 }, "tls");
    test.after(() => both.stop());
    const [stopping, other] = both.edges;
    const { promise: came, resolve: arrived } = Promise.withResolvers<ServerResponse>();
    const service = await startHttpService((_request, response) => arrived(response));
    test.after(() => service.stop());
    const agent = await connectAgent(stopping, token, service.port);
    await agent.label({ app: "shop" });
    const visit = other.ask("h1", { host, method: "POST", body: "once" });
    const response = await came;
    const stopped = stopping.edge.stop();
    await stopping.report(({ type }) => type === "tunnel_closed");
    assert.equal((await other.ask("h2", { host })).status, 503);
    response.end("late");
    assert.equal((await visit).text, "late");
    await stopped;
  });

  it("a node that stops closes the sessions of SDKs one by one, each when it is idle", async (test) => {
    const both = await startTwoEdges(objects, { drainMs: 20_000 }, "tls");
    test.after(() => both.stop());
    const [stopping, other] = both.edges;
    const { promise: came, resolve: arrived } = Promise.withResolvers<ServerResponse>();
    const service = await startHttpService((_request, response) => arrived(response));
    test.after(() => service.stop());
    const [busy, idle] = [
      await connectAgent(stopping, token, service.port),
      await connectAgent(stopping, token, service.port),
    ];
    await busy.label({ app: "shop" });
    await idle.label({ app: "another" });
    const visit = other.ask("h1", { host, method: "POST", body: "once" });
    const response = await came;
    let isOver = false;
    void busy.closed.then(() => (isOver = true));
    const stopped = stopping.edge.stop();
    await idle.closed;
    assert.equal(isOver, false);
    response.end("late");
    assert.equal((await visit).text, "late");
    await busy.closed;
    await stopped;
  });

  it("D2: a node that stops lets 64 visitors of an agent with one session wait for the agent, and answers the others", async (test) => {
    const clock = movableClock();
    const both = await startTwoEdges(objects, { clock, drainMs: 20_000 }, "tls");
    test.after(() => both.stop());
    const [stopping, other] = both.edges;
    const service = await startHttpService((_request, response) => response.end("served"));
    test.after(() => service.stop());
    const agent = await connectAgent(stopping, token, service.port);
    await agent.label({ app: "shop" });
    assert.equal((await other.ask("h1", { host })).text, "served");
    const stopped = stopping.edge.stop();
    await agent.closed;
    const visits = await clock.hold(async () => {
      const asked = Array.from({ length: 65 }, () => other.ask("h1", { host, method: "POST", body: "once" }));
      assert.equal((await Promise.race(asked)).status, 503);
      const again = await connectAgent(other, token, service.port);
      test.after(() => again.close());
      await again.label({ app: "shop" });
      return asked;
    });
    const texts = (await Promise.all(visits)).map(({ text }) => text);
    assert.equal(texts.filter((text) => text === "served").length, 64);
    await stopped;
  });

  it("a node that stops moves other nodes' visitors to its agents' other sessions while its own visitors finish", async (test) => {
    const both = await startTwoEdges(objects, { drainDelay: 0.05, drainMs: 20_000 }, "tls");
    test.after(() => both.stop());
    const [stopping, other] = both.edges;
    const { promise: came, resolve: arrived } = Promise.withResolvers<ServerResponse>();
    const service = await startHttpService((request, response) =>
      request.method === "POST" ? arrived(response) : response.end("served"),
    );
    test.after(() => service.stop());
    const at = { port: stopping.edge.agent.port, ca: stopping.authority.certificatePem, token };
    const otherServers = [{ host: "127.0.0.1", port: other.edge.agent.port }];
    const options = { upstream: service.port, labels: { app: "shop" } };
    const agent = await startOurAgent(at, { ...options, agent: { connections: 2, otherServers } });
    test.after(() => agent.close());
    await Promise.all(both.edges.map((edge) => edge.report(({ type }) => type === "tunnel_opened")));
    const visit = stopping.ask("h1", { host, method: "POST", body: "once" });
    const response = await came;
    const stopped = stopping.edge.stop();
    await stopping.report(({ type }) => type === "tunnel_closed");
    assert.equal((await other.ask("h2", { host })).text, "served");
    response.end("late");
    assert.equal((await visit).text, "late");
    await stopped;
    await agent.close();
  });

  it("a node that stops keeps the tunnels of our agents until they are known to have moved", async (test) => {
    const both = await startTwoEdges(objects, { drainDelay: 0.05 }, "tls");
    test.after(() => both.stop());
    const [stopping, other] = both.edges;
    const service = await startHttpService((_request, response) => response.end("served"));
    test.after(() => service.stop());
    const at = { port: stopping.edge.agent.port, ca: stopping.authority.certificatePem, token };
    const otherServers = [{ host: "127.0.0.1", port: other.edge.agent.port }];
    const options = { upstream: service.port, labels: { app: "shop" } };
    both.hold();
    const agent = await startOurAgent(at, { ...options, agent: { connections: 2, otherServers } });
    test.after(() => agent.close());
    await Promise.all(both.edges.map((edge) => edge.report(({ type }) => type === "tunnel_opened")));
    let isTold = false;
    const closed = stopping.report(({ type }) => type === "tunnel_closed").then(() => isTold);
    const stopped = stopping.edge.stop();
    while (await accepts(stopping.edge.https.port));
    isTold = true;
    both.release();
    assert.equal(await closed, true);
    await stopped;
    await agent.close();
  });
});

/** Whether the loopback port accepts a connection. */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
