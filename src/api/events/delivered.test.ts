import assert from "node:assert/strict";
import { it } from "node:test";
import { keepDelivered } from "./delivered.ts";
import type { Event } from "./event/event.ts";
import type { EventTarget } from "./targets/opened-target.ts";

const events = (count: number, name = "ev"): Event[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}_${index}` }) as unknown as Event);
const taking = (left?: readonly Event[]): EventTarget =>
  ({ limits: {}, deliver: async () => left && { events: left }, close() {} }) as unknown as EventTarget;
const idsOf = (some: readonly Event[]): string[] => some.map((one) => (one as unknown as { id: string }).id);

it("delivered events are stored newest first, up to a hundred per destination, without those the target did not accept", async () => {
  const delivered = keepDelivered();
  const [first, second] = events(2);
  await delivered.watched("ed_1", taking([second as Event])).deliver([first as Event, second as Event], false);
  assert.deepEqual(idsOf(delivered.of("ed_1")), ["ev_0"]);
  await delivered.watched("ed_1", taking()).deliver(events(150, "more"), false);
  const kept = idsOf(delivered.of("ed_1"));
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [100, "more_149", "more_50"]);
  delivered.drop("ed_1");
  assert.deepEqual(delivered.of("ed_1"), []);
});

it("delivered events are stored for two hundred destinations, the most recently used", async () => {
  const delivered = keepDelivered();
  for (let at = 0; at <= 200; at += 1) await delivered.watched(`ed_${at}`, taking()).deliver(events(1), false);
  assert.deepEqual(delivered.of("ed_0"), []);
  assert.equal(delivered.of("ed_1").length, 1);
  assert.equal(delivered.of("ed_200").length, 1);
});
