import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import type { ServerCount } from "../tunnel/client-hooks.ts";
import type { SessionPlace } from "./reconnecting-line.ts";
import { keepSpread } from "./spread.ts";

const server = { host: "agents.example.com", port: 443 };

/** A line at a node, and the node that its next search finds. */
class FakeLine {
  place: SessionPlace | undefined;
  readonly world: World;
  searches = 0;
  hurried = 0;

  constructor(world: World, nodeId: string | undefined) {
    this.world = world;
    this.move(nodeId);
  }

  get isOnline(): boolean {
    return this.place !== undefined;
  }

  move(nodeId: string | undefined): void {
    this.place = nodeId === undefined ? undefined : { server, edges: 2, edgeId: nodeId, nodes: 2, nodeId };
  }

  async count(): Promise<ServerCount> {
    this.world.questions += 1;
    if (this.world.silent.has(this.place?.nodeId ?? "")) return await new Promise(() => {});
    return { edges: 2, nodes: this.world.nodes.size, edgeSet: "" };
  }

  async spread(): Promise<boolean> {
    this.searches += 1;
    const held = new Set(this.world.lines.map(({ place }) => place?.nodeId));
    const free = [...this.world.reachable].find((one) => !held.has(one));
    if (free !== undefined) this.move(free);
    return free !== undefined;
  }

  hurry(): void {
    this.hurried += 1;
  }
}

interface World {
  /** Nodes that the server counts, those that a search can reach, and those that do not answer questions. */
  readonly nodes: Set<string>;
  readonly reachable: Set<string>;
  readonly silent: Set<string>;
  readonly lines: FakeLine[];
  questions: number;
}

function start(hasAddresses: boolean, at: readonly (string | undefined)[]) {
  const clock = makeManualClock();
  const world: World = { nodes: new Set(["a"]), reachable: new Set(["a"]), silent: new Set(), lines: [], questions: 0 };
  for (const node of at) world.lines.push(new FakeLine(world, node));
  const spread = keepSpread({ clock, random: () => 1, lines: world.lines, hasAddresses, counted() {} });
  spread.begin();
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.pass(1_000);
      await turn();
    }
  };
  const held = (): number => new Set(world.lines.flatMap(({ place }) => place?.nodeId ?? [])).size;
  return { world, spread, pass, held };
}

describe("sessions of an agent with several addresses", () => {
  it("sessions of an agent with several addresses are at two nodes within 10 s after a node has arrived, for ten minutes of nodes that come and go", async () => {
    const { world, spread, pass, held } = start(true, ["a", "a"]);
    for (let round = 0; round < 30; round += 1) {
      world.nodes.add("b");
      world.reachable.add("b");
      await pass(10);
      assert.equal(held(), 2, `round ${round}`);
      world.nodes.delete("b");
      world.reachable.delete("b");
      for (const line of world.lines) if (line.place?.nodeId === "b") line.move("a");
      spread.begin();
      await pass(10);
    }
    spread.stop();
  });

  it("sessions of an agent with several addresses are at two nodes within 10 s after a counted node becomes reachable", async () => {
    const { world, spread, pass, held } = start(true, ["a", "a"]);
    world.nodes.add("b");
    await pass(600);
    assert.equal(held(), 1);
    world.reachable.add("b");
    await pass(10);
    assert.equal(held(), 2);
    spread.stop();
  });

  it("sessions of an agent with several addresses do not move while no other node is counted", async () => {
    const { world, spread, pass } = start(true, ["a", "a"]);
    await pass(600);
    assert.deepEqual(
      world.lines.map(({ searches }) => searches),
      [0, 0],
    );
    spread.stop();
  });

  it("sessions of an agent with several addresses: one that does not answer is passed over, and one that waits tries again", async () => {
    const { world, spread, pass } = start(true, ["b", "a", undefined]);
    world.nodes.add("b").add("c");
    world.silent.add("b");
    await pass(60);
    assert.ok((world.lines[2]?.hurried ?? 0) > 0);
    spread.stop();
  });

  it("sessions of an agent with one address are moved less and less often while attempts fail, and again after the number of nodes has changed", async () => {
    const { world, spread, pass, held } = start(false, ["a", "a"]);
    world.nodes.add("b");
    await pass(3_600);
    const searches = world.lines[1]?.searches ?? 0;
    assert.ok(searches > 2 && searches < 12, String(searches));
    const { questions } = world;
    assert.ok(questions < 20, String(questions));
    world.nodes.add("c");
    await pass(1_000);
    const after = world.lines[1]?.searches ?? 0;
    assert.ok(after > searches + 2, String(after));
    world.reachable.add("c");
    await pass(1_000);
    assert.equal(held(), 2);
    spread.stop();
  });
});

describe("sessions of an agent at a single server", () => {
  /** @param isEarlier whether the server does not report its edges */
  function startAt(edges: number, held: readonly string[], isEarlier = false) {
    const clock = makeManualClock();
    const reachable = new Set(held);
    let searches = 0;
    const lines = held.map((edgeId) => {
      const line = {
        place: { server, edges, edgeId, nodes: 0, nodeId: "a" } as SessionPlace | undefined,
        isOnline: true,
        count: async (): Promise<ServerCount> => ({
          edges: isEarlier ? 1 : edges,
          nodes: 0,
          edgeSet: isEarlier ? "" : [...reachable].join(),
        }),
        async spread(sought: string): Promise<boolean> {
          assert.equal(sought, "edge");
          searches += 1;
          const free = [...reachable].find((one) => !lines.some(({ place }) => place?.edgeId === one));
          if (free !== undefined) line.place = { server, edges, edgeId: free, nodes: 0, nodeId: "a" };
          return free !== undefined;
        },
        hurry() {},
      };
      return line;
    });
    const spread = keepSpread({ clock, random: () => 1, lines, hasAddresses: false, counted() {} });
    spread.begin();
    return {
      clock,
      reachable,
      spread,
      edges: (): number => new Set(lines.map(({ place }) => place?.edgeId)).size,
      searches: (): number => searches,
      async pass(seconds: number): Promise<void> {
        for (let second = 0; second < seconds; second += 1) {
          clock.pass(1_000);
          await turn();
        }
      },
    };
  }

  it("sessions of an agent at a single server move to an edge without one within 10 s, and then wait for nothing", async () => {
    for (const isEarlier of [false, true]) {
      const agent = startAt(2, ["one", "one"], isEarlier);
      agent.reachable.add("two");
      await agent.pass(10);
      assert.deepEqual([agent.edges(), agent.searches(), agent.clock.pending], [2, 1, 0]);
    }
  });

  it("sessions of an agent at a single server move to an edge within 10 s after the edge has started, although searches failed for ten minutes", async () => {
    const agent = startAt(2, ["one", "one"]);
    await agent.pass(600);
    assert.equal(agent.edges(), 1);
    agent.reachable.add("two");
    await agent.pass(10);
    assert.deepEqual([agent.edges(), agent.clock.pending], [2, 0]);
  });

  it("sessions of an agent at a single server move within 10 s if the first search reaches the same edge", async () => {
    const agent = startAt(2, ["one", "one"]);
    await agent.pass(5);
    agent.reachable.add("two");
    await agent.pass(5);
    assert.deepEqual([agent.edges(), agent.searches()], [2, 2]);
  });

  it("sessions of an agent at a single server with fewer edges or one session stay where they are", async () => {
    for (const [edges, held] of [
      [1, ["one", "one"]],
      [2, ["one"]],
      [2, ["one", "two"]],
    ] as const) {
      const agent = startAt(edges, held);
      await agent.pass(600);
      assert.deepEqual([agent.searches(), agent.clock.pending], [0, 0]);
    }
  });

  it("sessions of an agent at a single server search less and less often while an edge does not run", async () => {
    for (const isEarlier of [false, true]) {
      const agent = startAt(2, ["one", "one"], isEarlier);
      await agent.pass(600);
      assert.ok(agent.searches() <= 9, String(agent.searches()));
      agent.spread.stop();
    }
  });
});
