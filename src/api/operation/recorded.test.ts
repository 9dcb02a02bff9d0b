import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RecordedSpan } from "../../lib/span-recorder.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { recordJob } from "./recorded.ts";

describe("spans of background work", () => {
  it("background work has a span if it changed something or failed", async () => {
    const clock = makeManualClock();
    const spans: RecordedSpan[] = [];
    const recorder = { record: (span: RecordedSpan) => void spans.push(span) };
    const job = (work: () => Promise<number>): Promise<void> => recordJob(recorder, clock, "sweep", work);
    await job(() => Promise.resolve(0));
    await job(() => {
      clock.pass(5);
      return Promise.resolve(3);
    });
    await assert.rejects(
      job(() => Promise.reject(new Error("no database"))),
      /no database/,
    );
    assert.deepEqual(
      spans.map(({ startedAt, endedAt, error, attributes }) => [endedAt - startedAt, error, attributes]),
      [
        [5, undefined, { "postern.changed_objects": 3 }],
        [0, "no database", { "postern.changed_objects": 0 }],
      ],
    );
  });
});
