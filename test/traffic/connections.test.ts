/** An agent with several sessions: its tunnels are shared, and exist as long as one session does. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, afterEach, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { metricSum } from "../support/metrics.ts";
import { nodeCount } from "../support/node-count.ts";
import type { OurAgent, OurAgentOptions } from "../support/our-agent.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A way to the agent listener whose connections can be cut, or fall silent. */
async function startRelay(port: number) {
  const sockets: Socket[] = [];
  const relay = createServer((inner) => {
    const outer = connect(port, "127.0.0.1");
    inner.pipe(outer).pipe(inner);
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
    sockets.push(inner);
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  stops.push(() => {
    relay.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (relay.address() as AddressInfo).port,
    /** Open sessions, oldest first. */
    open: () => sockets.filter(({ destroyed }) => !destroyed),
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}

/** By their edges and nodes. */
const platforms = new Map<string, Promise<TestPlatform>>();
after(async () => {
  for (const platform of platforms.values()) await (await platform).stop();
});

/** A platform shared by all tests that need one. */
function platformWith(edges: number, nodes = nodeCount): Promise<TestPlatform> {
  const key = `${edges} ${nodes}`;
  const platform = platforms.get(key) ?? startPlatform({ edges }, nodes);
  platforms.set(key, platform);
  return platform;
}

/** @param nodes how many servers; as many as all tests have unless given */
async function startWorld(edges: number, nodes?: number) {
  const platform = await platformWith(edges, nodes);
  await sessions(platform, 0);
  const service = await startHttpService((_request, response) => response.end("served"));
  stops.push(() => service.stop());
  const relay = await startRelay(platform.agentPort);
  const server = { host: "127.0.0.1", port: relay.port };
  const agent = await startAgent(platform, { upstream: service.port, agent: { server, connections: 2 } });
  await sessions(platform, 2);
  return { platform, service, relay, agent };
}

/** An agent that ends with the test. */
async function startAgent(platform: TestPlatform, options: OurAgentOptions): Promise<OurAgent> {
  const agent = await platform.startAgent(options);
  stops.push(() => agent.close());
  return agent;
}

/** Resolves with the ids of the sessions when there are so many, each with a tunnel. */
async function sessions(platform: TestPlatform, count: number): Promise<readonly string[]> {
  return await eventually(
    async () => {
      const { body } = await platform.api("GET", "/tunnels");
      return (body.tunnels as { tunnel_session: { id: string } }[]).map((one) => one.tunnel_session.id);
    },
    (ids) => new Set(ids).size === count,
  );
}

async function visit(platform: TestPlatform, agent: OurAgent, http: Protocol, times: number): Promise<void> {
  for (let visited = 0; visited < times; visited += 1) {
    const { status, text } = await platform.request(agent.url, { http });
    assert.equal(`${status} ${text}`, "200 served");
  }
}

for (const edges of [1, 2]) {
  describe(`an agent with two sessions over edges: ${edges}`, { timeout: 60_000 }, () => {
    it("an agent with two sessions has two endpoints, and explain describes its URL at each", async () => {
      const { platform, agent } = await startWorld(edges);
      const { body } = await platform.api("GET", "/endpoints");
      const ids = (body.endpoints as { id: string }[]).map(({ id }) => id);
      assert.equal(ids.length, 2);
      for (const id of ids) {
        const { status, body: told } = await platform.api("POST", `/endpoints/${id}/explain`, { url: `${agent.url}/` });
        assert.equal(`${status} ${told.outcome}`, "200 forwarded", JSON.stringify(told));
      }
    });

    for (const http of protocols) {
      it(`an agent with two sessions has one URL that outlives either connection, over ${http}`, async () => {
        const { platform, relay, agent } = await startWorld(edges);
        const { body } = await platform.api("GET", "/tunnels");
        const tunnels = body.tunnels as { public_url: string }[];
        assert.deepEqual(
          tunnels.map(({ public_url }) => public_url),
          [agent.url, agent.url],
        );
        for (const at of [0, 1]) {
          relay.open()[at]?.destroy();
          await visit(platform, agent, http, 8);
          await sessions(platform, 2);
        }
        assert.deepEqual(
          agent.statuses.map(({ state }) => state).filter((state) => state === "waiting"),
          [],
        );
      });
    }

    it("an agent with two sessions defends its URL against other agents, and hands it over to its next run", async () => {
      const { platform, service, relay, agent } = await startWorld(edges);
      const { url } = agent;
      const { body: account } = await platform.api("POST", "/accounts", { name: "other" });
      const asking = { upstream: service.port, url: new URL(url).origin };
      await assert.rejects(platform.startAgent({ ...asking, token: account.authtoken }), /gave up/);
      await assert.rejects(platform.startAgent(asking), /gave up/);
      await visit(platform, agent, "h1", 4);
      relay.silence();
      const next = await startAgent(platform, { ...asking, agent: { connections: 2 } });
      assert.equal(next.url, url);
      await visit(platform, next, "h1", 8);
    });
  });
}

it("an agent with as many sessions as edges serves the visitors of each there", { timeout: 60_000 }, async () => {
  const { platform, agent } = await startWorld(2, 1);
  const overPeerLine = async (): Promise<number> => {
    const { text } = await platform.api("GET", "/metrics");
    return metricSum(text, "postern_peer_streams_total");
  };
  const earlier = await overPeerLine();
  await visit(platform, agent, "h1", 16);
  assert.equal(await overPeerLine(), earlier);
});

it("an agent with several sessions begins them at each of its servers in turn", { timeout: 60_000 }, async () => {
  const platform = await platformWith(1);
  await sessions(platform, 0);
  const relays = [await startRelay(platform.agentPort), await startRelay(platform.agentPort)];
  const [server, ...otherServers] = relays.map(({ port }) => ({ host: "127.0.0.1", port }));
  assert.ok(server);
  await startAgent(platform, { upstream: 1, agent: { server, otherServers, connections: 4 } });
  await sessions(platform, 4);
  assert.deepEqual(
    relays.map((relay) => relay.open().length),
    [2, 2],
  );
});
