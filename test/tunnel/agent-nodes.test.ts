/** Where our agent opens its sessions if the server is one of several nodes, which join and leave. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, before, describe, it } from "node:test";
import { makeManualClock } from "../support/clock.ts";
import type { ManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { makeAuthority, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { Authority, TunnelServer } from "../support/tunnel-server.ts";

/** Advances the time second by second, so that the effects of each second can take place. */
async function passesUntil(clock: ManualClock, holds: () => boolean): Promise<void> {
  const looks = (): boolean => {
    clock.pass(1_000);
    return holds();
  };
  await eventually(looks, (isSo) => isSo);
}

describe("an agent of a server that is one of several nodes", { timeout: 60_000 }, () => {
  let authority: Authority;
  /** Number of nodes, as every edge reports it. */
  let nodes: number;
  const stops: (() => Promise<unknown>)[] = [];
  before(async () => {
    authority = await makeAuthority();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  /**
   * Starts an edge of the node.
   * @param edges number of edges per node
   */
  async function serve(nodeId: string, edgeId: string, { edges = 1, port = 0 } = {}): Promise<TunnelServer> {
    const server = await startTunnelServer({
      authority,
      port,
      edges: () => Math.max(edges, Math.min(nodes, 2)),
      nodes: () => nodes,
      edgeId,
      nodeId: () => nodeId,
    });
    stops.push(() => server.stop());
    return server;
  }
  /** Starts an agent that tries the servers in turn, with the test's clock. */
  async function startAgent(ports: readonly number[]) {
    const clock = makeManualClock();
    const [port = 0, ...others] = ports;
    const agent = await startOurAgent(
      { port, ca: authority.ca.certificatePem, token: rightToken },
      {
        upstream: 1,
        url: "https://one.example.test",
        agent: {
          clock,
          random: () => 1,
          otherServers: others.map((other) => ({ host: "127.0.0.1", port: other })),
          heartbeatIntervalMs: 60_000,
          heartbeatToleranceMs: 60_000,
        },
      },
    );
    stops.push(() => agent.close());
    return { agent, clock };
  }
  const open = ({ register }: TunnelServer): number => {
    const of = (what: string): number => register.events.filter((event) => event.startsWith(`${what} ts_`)).length;
    return of("opened") - of("closed");
  };

  it("an agent of a node that another one joins also opens a session there, with its tunnel", async () => {
    nodes = 1;
    const [first, later] = [await serve("a", "a1"), await serve("b", "b1")];
    const { clock } = await startAgent([first.port, later.port]);
    assert.equal(later.register.auths.length, 0);
    nodes = 2;
    await passesUntil(clock, () => later.register.tunnels.size === 1);
    assert.deepEqual([open(first), open(later)], [1, 1]);
  });

  it("an agent of several nodes opens sessions at two of them before it opens two at edges of one", async () => {
    nodes = 2;
    const all = [await serve("a", "a1", { edges: 2 }), await serve("a", "a2", { edges: 2 }), await serve("b", "b1")];
    let turn = 0;
    const balancer = createServer((socket) => {
      const to = connect((all[turn++ % all.length] as TunnelServer).port, "127.0.0.1");
      for (const one of [socket, to]) one.on("error", () => {});
      socket.pipe(to).pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(balancer, "listening");
    stops.push(async () => balancer.close());
    await startAgent([(balancer.address() as AddressInfo).port]);
    const [, beside, other] = all as [TunnelServer, TunnelServer, TunnelServer];
    await other.register.until(() => other.register.tunnels.size === 1);
    await beside.register.until(() => open(beside) === 0);
    assert.deepEqual(all.map(open), [1, 0, 1]);
  });

  it("an agent with all sessions at one node moves one of them to another that is reachable again", async () => {
    nodes = 2;
    const [stays, goes] = [await serve("a", "a1"), await serve("b", "b1")];
    const { clock } = await startAgent([stays.port, goes.port]);
    await goes.register.until(() => goes.register.tunnels.size === 1);
    await goes.stop();
    // The agent tries the other address. After a few attempts it accepts the node where it already has a session.
    await passesUntil(clock, () => stays.register.tunnels.size === 2);
    const again = await serve("b", "b2", { port: goes.port });
    await passesUntil(clock, () => again.register.tunnels.size === 1);
    await stays.register.until(() => open(stays) === 1);
    assert.equal(stays.register.tunnels.size, 1);
  });

  it("an agent of a single server moves a session to an edge that restarted", async () => {
    nodes = 0;
    const first = await serve("a", "a1", { edges: 2 });
    let reachable = [first, await serve("a", "a2", { edges: 2 })];
    const [, second] = reachable as [TunnelServer, TunnelServer];
    let turn = 0;
    const balancer = createServer((socket) => {
      const to = connect((reachable[turn++ % reachable.length] as TunnelServer).port, "127.0.0.1");
      for (const one of [socket, to]) one.on("error", () => {});
      socket.pipe(to).pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(balancer, "listening");
    stops.push(async () => balancer.close());
    const { clock } = await startAgent([(balancer.address() as AddressInfo).port]);
    await second.register.until(() => second.register.tunnels.size === 1);
    reachable = [first];
    await second.stop();
    // After some attempts, the agent accepts the edge where it already has a session.
    await passesUntil(clock, () => first.register.tunnels.size === 2);
    const again = await serve("a", "a3", { edges: 2 });
    reachable = [first, again];
    const sinceMs = clock.monotonic();
    await passesUntil(clock, () => again.register.tunnels.size === 1);
    assert.ok(clock.monotonic() - sinceMs <= 60_000);
    await first.register.until(() => open(first) === 1);
  });
});
