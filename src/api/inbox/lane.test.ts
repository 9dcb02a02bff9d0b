import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { inboxPayload } from "../../lib/inbox-payload.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import type { Downward } from "../../routing/planes/messages.ts";
import { InboxStore } from "../../storage/inbox/inbox-store.ts";
import { sqliteEngine } from "../../storage/inbox/sqlite-engine.ts";
import { accountSealersWith, newDataKey } from "../../storage/sealing/sealing.ts";
import type { InboxResult } from "../../traffic/stored-request.ts";
import type { InboxConfig } from "../../traffic/parts/inbox-fields.ts";
import { makeInboxCounters } from "./inbox-counters.ts";
import { InboxDeliveries } from "./deliveries.ts";
import { Lane } from "./lane.ts";

const config = {
  concurrency: 8,
  rate_per_second: 0,
  timeout_seconds: 30,
  max_attempts: 12,
  first_retry_seconds: 5,
  max_retry_seconds: 3600,
  retain_hours: 1,
} as InboxConfig;
const away: InboxResult = { error: "ERR", isAway: true, durationMs: 0 };
const done: InboxResult = { status: 200, durationMs: 1 };

/** A lane with as many stored messages, whose edge answers only when the test does. */
async function startLane(messages: number) {
  const directory = mkdtempSync(join(tmpdir(), "postern-lane-"));
  const store = new InboxStore(sqliteEngine(join(directory, "inbox.db")), accountSealersWith([newDataKey()]), "one");
  const facts = { accountId: "ac_1", routeId: "route_1", provider: "", eventType: "", method: "POST", path: "/" };
  for (let at = 0; at < messages; at += 1) {
    const more = { source: "192.0.2.1", requestId: "req_1", key: "", keyMs: 0, line: undefined };
    await store.put([{ ...facts, ...more, id: `m${at}`, payload: inboxPayload("{}", Buffer.from("body")) }]);
  }
  const clock = makeManualClock();
  /** Calls that the edge has not answered. */
  const calls: number[] = [];
  const send = (message: Downward): void => {
    if (message.type === "inbox_delivery") calls.push(message.call);
  };
  const deliveries = new InboxDeliveries({ joined: () => [{ edgeId: "edge", send }] }, clock);
  const counters = makeInboxCounters(makeMetrics());
  const lane = new Lane("route_1", {
    store,
    deliveries,
    counters,
    clock,
    log: silentLog,
    random: () => 0,
    configOf: () => config,
    dead: () => undefined,
  });
  return {
    store,
    clock,
    lane,
    /** Resolves with as many calls that the edge is to answer. */
    async sent(count: number): Promise<readonly number[]> {
      await eventually(
        () => calls.length,
        (length) => length >= count,
      );
      return calls.splice(0);
    },
    answer: (call: number, result: InboxResult) => deliveries.answered(call, result),
    /** Resolves when the results of all but as many attempts are stored. */
    async settled(left: number): Promise<void> {
      const sql = "select count(*) as count from inbox_messages where state = 'sending'";
      await eventually(
        async () => (await store.engine.read({ sql, parameters: [] }))[0]?.["count"],
        (count) => count === left,
      );
    },
    async stop() {
      for (const call of calls.splice(0)) deliveries.answered(call, done);
      await lane.stop();
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
}

it("an inbox tries immediately when an agent connects, although earlier attempts report afterwards that none was there", async () => {
  const { lane, sent, answer, settled, stop } = await startLane(8);
  lane.wake();
  const calls = await sent(8);
  // The edge has seen no agent for these attempts, and its results follow.
  lane.reachable();
  for (const call of calls) answer(call, away);
  // No time passes.
  const [probe] = await sent(1);
  answer(probe as number, done);
  for (const call of await sent(7)) answer(call, done);
  await settled(0);
  await stop();
});

it("an inbox tries a new agent while an attempt through its former connection has not ended", async () => {
  const { clock, lane, sent, answer, settled, stop } = await startLane(2);
  lane.wake();
  for (const call of await sent(2)) answer(call, away);
  await settled(0);
  const former = await eventually(
    () => {
      clock.pass(250);
      return sent(0);
    },
    ({ length }) => length === 1,
  );
  lane.reachable();
  const [call] = await sent(1);
  answer(call as number, done);
  answer(former[0] as number, done);
  await settled(0);
  await stop();
});

it("an inbox does not try again for each message that arrives while no agent is there", async () => {
  const { store, clock, lane, sent, answer, settled, stop } = await startLane(1);
  lane.wake();
  for (const call of await sent(1)) answer(call, away);
  await settled(0);
  await eventually(
    () => clock.pending,
    (pending) => pending === 1,
  );
  for (let at = 0; at < 3; at += 1) lane.arrived();
  // Whatever the lane asked of the storage has been done after this.
  await store.keepLeases();
  await settled(0);
  assert.deepEqual(await sent(0), []);
  clock.pass(250);
  for (const call of await sent(1)) answer(call, done);
  await settled(0);
  await stop();
});

it("messages of an inbox that find no agent together lengthen the pause to the next attempt once", async () => {
  const { clock, lane, sent, answer, settled, stop } = await startLane(8);
  lane.wake();
  for (const call of await sent(8)) answer(call, away);
  await settled(0);
  await eventually(
    () => clock.pending,
    (pending) => pending === 1,
  );
  clock.pass(250);
  const [probe] = await sent(1);
  answer(probe as number, done);
  for (const call of await sent(7)) answer(call, done);
  await settled(0);
  await stop();
});
