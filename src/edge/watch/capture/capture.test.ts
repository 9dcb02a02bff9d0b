import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import { metricSum } from "../../../../test/support/metrics.ts";
import { seededRandom } from "../../../../test/support/random.ts";
import type { CaptureBatch } from "../../../capture/capture-batch.ts";
import { recordsIn } from "../../../capture/format/record-reader.ts";
import { FieldTable } from "../../../http1/field-table.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import { newRequestId } from "../../../lib/traffic-ids.ts";
import { denyStep, passStep } from "../../../traffic/step.ts";
import type { Step } from "../../../traffic/step.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { makeCapture } from "./capture.ts";

/** A capture of everything of the account, whose thread takes nothing until `take`. */
function start(setting: object, limits: { waiting?: number } = {}) {
  const clock = makeManualClock();
  const metrics = makeMetrics();
  const batches: CaptureBatch[] = [];
  let waitingBytes = 0;
  const line = {
    get waitingBytes() {
      return waitingBytes;
    },
    send(batch: CaptureBatch) {
      waitingBytes += batch.bytes.length;
      batches.push(batch);
    },
    ask: () => Promise.resolve(undefined),
    askBlocks: () => Promise.resolve(undefined),
  };
  const chance = seededRandom(7);
  const capture = makeCapture({
    line,
    table: { object: () => ({ doc: { capture: setting } }), subscribe() {} } as never,
    isDefault: false,
    place: () => ({ nodeId: "nd_1", edge: 1 }),
    random: chance,
    clock,
    metrics,
    limits,
  });
  return {
    clock,
    batches,
    note: (steps: readonly Step[], change: object = {}) => capture.note({ ...exchangeWith(steps), ...change }),
    take: () => void (waitingBytes = 0),
    metric: (name: string) => metricSum(metrics.render(), name),
    records: () => batches.flatMap(({ bytes }) => Array.from(recordsIn(Buffer.from(bytes)), ({ record }) => record)),
  };
}

function exchangeWith(steps: readonly Step[]): FinishedExchange {
  const headers = new FieldTable(Buffer.alloc(0), 0);
  headers.seal();
  const request = { scheme: "https", httpVersion: "1.1", websocket: false, target: "/", hostField: "h", upgrade: "" };
  return {
    requestId: newRequestId(1),
    shared: {},
    accountId: "ac_1",
    receivedAt: 1,
    revision: 1,
    method: "GET",
    path: "/",
    siteId: "edghts_1",
    routeId: "r",
    status: 200,
    durationMs: 1,
    bytesIn: 0,
    bytesOut: 0,
    cutShort: false,
    request: { ...request, headers },
    connection: { source: "192.0.2.1", sourcePort: 1, local: {}, localPort: 443, startedAt: 1 },
    steps,
  } as unknown as FinishedExchange;
}

const allowed = [passStep("router", "matched")];
const refused = [...allowed, denyStep("ip_restriction", "source_denied", "denied")];

describe("the capture of an edge", () => {
  it("the capture of an edge drops and counts requests while the writing thread is behind, and continues afterwards", () => {
    const { clock, batches, note, take, metric, records } = start({}, { waiting: 2_000 });
    for (let count = 0; count < 50; count += 1) {
      note(allowed);
      clock.pass(200);
    }
    const kept = records().length;
    assert.ok(kept > 0 && kept < 50, `${kept} records`);
    assert.equal(metric("postern_capture_dropped_total"), 50 - kept);
    assert.equal(metric("postern_captured_requests_total"), 50);
    take();
    note(allowed);
    clock.pass(200);
    assert.equal(records().length, kept + 1);
    assert.deepEqual(
      batches.flatMap(({ dropped }) => dropped).reduce((sum, [, count]) => sum + count, 0),
      50 - kept,
    );
    assert.ok(batches.flatMap(({ dropped }) => dropped).every(([accountId]) => accountId === "ac_1"));
    assert.equal(clock.pending, 0);
  });

  it("the capture of an edge takes a share of the allowed requests, and all denied and failed ones", () => {
    const { clock, note, records } = start({ sample: 0.25 });
    for (let count = 0; count < 400; count += 1) {
      note(allowed);
      if (count % 10 === 0) note(refused);
      if (count % 20 === 0) note(allowed, { cutShort: true });
    }
    clock.pass(200);
    const outcomes = Map.groupBy(records(), ({ decision }) => decision.outcome);
    assert.equal(outcomes.get("denied")?.length, 40);
    assert.equal(outcomes.get("failed")?.length, 20);
    const share = (outcomes.get("forwarded")?.length ?? 0) / 400;
    assert.ok(share > 0.18 && share < 0.32, String(share));
  });
});
