import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { NodeMembership } from "../../routing/planes/edge-questions.ts";
import type { EdgeLine } from "../edges/edges.ts";
import { watchStanding } from "./watch-standing.ts";

/** A node with one edge, beside another node. */
function start() {
  const clock = makeManualClock();
  const told: string[] = [];
  let isAlive = true;
  let watch: () => void = () => undefined;
  let other: NodeMembership | undefined = "member";
  const line: EdgeLine = {
    edgeId: "own",
    send: (message) => void (message.type === "standing" && told.push(message.standing)),
  };
  const observer = watchStanding({
    node: { isAlive: () => isAlive, onRenewal: (given) => void (watch = given) },
    edges: { joined: () => [line] },
    others: () => [{ edgeId: "other", send() {} }],
    queries: { standing: async () => other },
    clock,
    log: silentLog,
  });
  return {
    told,
    lease(held: boolean): void {
      isAlive = held;
      watch();
    },
    isolate: (isIsolated: boolean) => observer.isolate(isIsolated),
    others: (standing: NodeMembership | undefined) => void (other = standing),
    restartEdge: () => observer.receive({ type: "hello", edgeId: "own" }, line),
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        clock.pass(1_000);
        for (let step = 0; step < 3; step += 1) await turn();
      }
    },
  };
}

describe("the standing of a node", () => {
  it("the standing of a node whose lease is over becomes excluded when another one is a member, and member with the next lease", async () => {
    const node = start();
    node.lease(false);
    assert.deepEqual(node.told, ["cut_off"]);
    await node.pass(5);
    assert.deepEqual(node.told, ["cut_off", "excluded"]);
    node.restartEdge();
    node.lease(true);
    await node.pass(5);
    assert.deepEqual(node.told, ["cut_off", "excluded", "excluded", "member"]);
  });

  it("the standing of a node stays cut off while all nodes have lost their leases or do not answer, and while it joins soon after the others", async () => {
    for (const other of ["cut_off", undefined] as const) {
      const node = start();
      node.others(other);
      node.lease(false);
      await node.pass(60);
      assert.deepEqual(node.told, ["cut_off"]);
      node.others("member");
      await node.pass(2);
      node.lease(true);
      await node.pass(10);
      assert.deepEqual(node.told, ["cut_off", "member"]);
    }
  });

  it("the standing of a node whose lease is over is alone while it reaches no other node, and member with the next lease", async () => {
    const node = start();
    node.others(undefined);
    node.lease(false);
    node.isolate(true);
    await node.pass(5);
    assert.deepEqual(node.told, ["cut_off", "alone"]);
    node.others("cut_off");
    node.isolate(false);
    await node.pass(5);
    node.lease(true);
    assert.deepEqual(node.told, ["cut_off", "alone", "cut_off", "member"]);
  });

  it("the standing of a node that reaches no other node is excluded while its lease is held, and after it got the lease again", async () => {
    const node = start();
    node.isolate(true);
    node.lease(false);
    node.lease(true);
    assert.deepEqual(node.told, ["excluded"]);
    node.isolate(false);
    assert.deepEqual(node.told, ["excluded", "member"]);
  });
});
