import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { makeHandOver } from "./hand-over.ts";
import type { BatchDone, SignalBatch } from "./hand-over.ts";
import { fieldsOf } from "./proto-reader.ts";

describe("a hand-over", () => {
  const batch = 64 * 1024;
  const start = () => {
    const sent: { readonly batch: SignalBatch; readonly done: BatchDone }[] = [];
    const clock = makeManualClock();
    const line = { send: (one: SignalBatch, done: BatchDone) => void sent.push({ batch: one, done }) };
    const handOver = makeHandOver({ signal: "traces", line, clock, limits: { batch } });
    let made = 0;
    const add = (count: number): void => {
      for (let at = 0; at < count; at += 1) handOver.add((to) => to.text(2, `item ${(made += 1)}`));
    };
    return { sent, clock, add };
  };
  const texts = ({ bytes }: SignalBatch): readonly string[] =>
    Array.from(fieldsOf(bytes), (one) => Buffer.from(one.bytes ?? []).toString());

  it("a hand-over sends every item once, in memory that is used again after the batch is done", () => {
    const { sent, clock, add } = start();
    let read = 0;
    const memories = new Set<ArrayBuffer>();
    for (let round = 0; round < 100; round += 1) {
      add(2_000);
      for (const { batch: one, done } of sent.splice(0)) {
        for (const text of texts(one)) assert.equal(text, `item ${(read += 1)}`);
        memories.add(one.bytes.buffer);
        done(0, one.bytes.buffer);
      }
    }
    clock.pass(1_000);
    for (const { batch: one } of sent) read += texts(one).length;
    assert.equal(read, 200_000);
    assert.ok(memories.size <= 3, String(memories.size));
  });

  it("a hand-over that has few items takes as much memory as they need", () => {
    const { sent, clock, add } = start();
    add(7_000);
    clock.pass(1_000);
    assert.deepEqual(
      sent.map(({ batch: one }) => one.bytes.byteLength < one.bytes.buffer.byteLength),
      [true, false],
    );
    assert.ok(sent.every(({ batch: one }) => one.bytes.buffer.byteLength <= 1.5 * batch));
  });
});
