import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { NodeRow } from "../../storage/cluster/nodes.ts";
import type { EdgeLine } from "../edges/edges.ts";
import { watchIsolation } from "./isolation.ts";

/** A node beside two others, which renew their leases. */
function start() {
  const clock = makeManualClock();
  const changes: boolean[] = [];
  const told = new Set<string>();
  const asked: string[] = [];
  const answering = new Set(["b", "c"]);
  /** When each of the others renewed its lease, monotonic. */
  const renewed = new Map([
    ["b", 0],
    ["c", 0],
  ]);
  let isAlive = true;
  const lineTo = (edgeId: string): EdgeLine => ({ edgeId, send() {} });
  const isolation = watchIsolation({
    node: {
      id: "a",
      isAlive: () => isAlive,
      list: async () =>
        Array.from(
          renewed,
          ([id, at]) => ({ id, is_held: true, age_ms: clock.monotonic() - at }) as unknown as NodeRow,
        ),
      presence: { put: (id) => void told.add(id), remove: (id) => void told.delete(id) },
    },
    others: () => new Map([...renewed.keys()].map((id) => [id, [lineTo(id)]])),
    queries: {
      async standing({ edgeId = "" }) {
        asked.push(edgeId);
        return answering.has(edgeId) ? "member" : undefined;
      },
    },
    changed: (isIsolated) => void changes.push(isIsolated),
    clock,
    log: silentLog,
  });
  return {
    isolation,
    changes,
    told,
    asked,
    answering,
    renewed,
    lease: (held: boolean) => void (isAlive = held),
    /** @param renewing nodes that renew their leases each second */
    async pass(seconds: number, renewing: readonly string[] = []): Promise<void> {
      for (let half = 0; half < 2 * seconds; half += 1) {
        clock.pass(500);
        for (const id of renewing) renewed.set(id, clock.monotonic());
        for (let step = 0; step < 5; step += 1) await turn();
      }
    },
  };
}

describe("the isolation of a node", () => {
  it("the isolation of a node begins when no other node answers for three seconds while one renews its lease, and ends with an answer", async () => {
    const node = start();
    await node.pass(10, ["b", "c"]);
    node.answering.delete("b");
    await node.pass(10, ["b", "c"]);
    assert.deepEqual([node.changes, node.told.size], [[], 0]);
    node.answering.clear();
    await node.pass(2, ["b", "c"]);
    assert.deepEqual([node.changes, node.told.size], [[], 1]);
    await node.pass(2, ["b", "c"]);
    assert.deepEqual(node.changes, [true]);
    node.answering.add("c");
    await node.pass(1, ["b", "c"]);
    assert.deepEqual([node.changes, node.told.size], [[true, false], 0]);
  });

  it("the isolation of a node does not begin when the other nodes have died, or are unreached too", async () => {
    const dead = start();
    await dead.pass(3, ["b", "c"]);
    dead.answering.clear();
    await dead.pass(20);
    assert.deepEqual(dead.changes, []);
    const apart = start();
    apart.answering.clear();
    for (const id of ["b", "c"]) apart.isolation.heard(`unreached ${id}`, { what: "unreached", node: id });
    await apart.pass(20, ["b", "c"]);
    assert.deepEqual(apart.changes, []);
    apart.isolation.heard("unreached c", undefined);
    await apart.pass(1, ["b", "c"]);
    assert.deepEqual(apart.changes, [true]);
  });

  it("the isolation of a node begins without an answer of the database when its lease is over and no other node answers", async () => {
    const node = start();
    await node.pass(10, ["b", "c"]);
    node.answering.clear();
    await node.pass(4);
    assert.deepEqual(node.changes, []);
    node.lease(false);
    await node.pass(1);
    assert.deepEqual(node.changes, [true]);
    node.answering.add("b");
    await node.pass(1);
    assert.deepEqual(node.changes, [true, false]);
  });

  it("the isolation of a node does not begin without a lease while another node answers, which is asked one at a time", async () => {
    const node = start();
    await node.pass(10, ["b", "c"]);
    assert.ok(node.asked.length <= 20);
    node.lease(false);
    await node.pass(20, ["b", "c"]);
    assert.deepEqual(node.changes, []);
  });
});
