import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import { metricSum } from "../../../../test/support/metrics.ts";
import type { AccessBatch } from "../../../lib/access-fields.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { makeAccessLog } from "./access-log.ts";
import type { AccessLogLimits } from "./access-log.ts";

/** Lines of this log have the id only. */
const exchange = (id: string): FinishedExchange => ({ id }) as FinishedExchange;
/** `id=req_1` and a line break. */
const lineLength = 9;

function start(limits: Partial<AccessLogLimits>) {
  const clock = makeManualClock();
  const metrics = makeMetrics();
  const batches: AccessBatch[] = [];
  const log = makeAccessLog({
    settings: { accessLogFormat: "logfmt", accessLogFields: ["id"], accessLogHeaders: [] },
    write: (batch) => void batches.push(batch),
    clock,
    metrics,
    limits,
  });
  return { clock, log, batches, dropped: () => metricSum(metrics.render(), "postern_access_log_dropped_total") };
}

describe("the edge's access log", () => {
  it("the edge's access log hands over lines together, after a pause or when a batch is full", () => {
    const { clock, log, batches } = start({ batch: 3 * lineLength, lingerMs: 100 });
    for (const id of ["req_1", "req_2"]) log.note(exchange(id));
    assert.deepEqual(batches, []);
    clock.pass(100);
    assert.deepEqual(batches, [{ text: "id=req_1\nid=req_2\n", lines: 2 }]);
    for (const id of ["req_3", "req_4", "req_5"]) log.note(exchange(id));
    assert.deepEqual(batches[1], { text: "id=req_3\nid=req_4\nid=req_5\n", lines: 3 });
    log.flush();
    assert.equal(batches.length, 2);
  });

  it("D10: the edge's access log drops and counts lines that wait for a slow writer, and continues when it has written", () => {
    const { log, batches, dropped } = start({ batch: lineLength, waiting: 2 * lineLength });
    for (const id of ["req_1", "req_2", "req_3", "req_4"]) log.note(exchange(id));
    assert.equal(batches.length, 2);
    assert.equal(dropped(), 2);
    log.written({ length: lineLength, lost: 1 });
    assert.equal(dropped(), 3);
    log.note(exchange("req_5"));
    assert.equal(batches.at(-1)?.text, "id=req_5\n");
  });
});
