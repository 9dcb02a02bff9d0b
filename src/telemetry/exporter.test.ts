import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { silentLog } from "../lib/log.ts";
import type { Log } from "../lib/log.ts";
import { makeMetrics } from "../lib/metrics.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { startOtlpReceiver } from "../../test/support/otlp-receiver.ts";
import type { OtlpReceiver } from "../../test/support/otlp-receiver.ts";
import { Exporter } from "./exporter.ts";
import type { ExporterOptions } from "./exporter.ts";
import { exportHandOverCounts, makeHandOver } from "./hand-over.ts";
import type { HandOver, HandOverLimits } from "./hand-over.ts";
import { writeSpan } from "./span.ts";
import { TracePlace } from "./trace-context.ts";

describe("the exporter", { timeout: 60_000 }, () => {
  let receiver: OtlpReceiver;
  const stops: (() => Promise<void>)[] = [];
  before(async () => void (receiver = await startOtlpReceiver()));
  afterEach(async () => {
    receiver.intercept = undefined;
    for (const stop of stops.splice(0)) await stop();
    for (const list of [receiver.spans, receiver.requests]) list.length = 0;
  });
  after(() => receiver.stop());

  const start = (change: Partial<ExporterOptions> = {}, limits: Partial<HandOverLimits> = {}) => {
    const clock = makeManualClock();
    const exporter = new Exporter({
      urls: { traces: `${receiver.url}/v1/traces` },
      headers: { authorization: "Bearer of-the-collector" },
      protocol: "http/protobuf",
      compression: "none",
      timeoutMs: 5_000,
      ca: undefined,
      maker: { resource: { "service.name": "test" }, version: "1" },
      clock,
      log: silentLog,
      random: () => 0.5,
      ...change,
    });
    stops.push(() => exporter.stop(5_000, systemClock));
    const metrics = makeMetrics();
    exportHandOverCounts(metrics);
    const count = (name: string): number =>
      Number(
        new RegExp(`^postern_telemetry_${name}_total\\{signal="traces"\\} (\\d+)$`, "m").exec(metrics.render())?.[1],
      );
    const begun = { items: count("items"), dropped: count("dropped") };
    return {
      clock,
      spans: makeHandOver({ signal: "traces", line: exporter, clock, limits }),
      made: () => count("items") - begun.items,
      dropped: () => count("dropped") - begun.dropped,
    };
  };
  const add = (spans: HandOver, name: string): void => {
    const place = new TracePlace(undefined, undefined);
    const times = { kind: "internal", startedAt: 1_000, endedAt: 2_000.5, error: undefined } as const;
    spans.add((to) =>
      writeSpan(to, place, "own", { ...times, name }, { text: "é".repeat(100), list: ["a", "b"], n: -1.5 }),
    );
  };

  it("the exporter sends spans whose bytes an independent decoder reads", async () => {
    const { spans } = start();
    add(spans, "one");
    add(spans, "two");
    spans.flush();
    await eventually(
      () => receiver.spans.length,
      (length) => length === 2,
    );
    const [one] = receiver.spans;
    assert.deepEqual(one?.attributes, { text: "é".repeat(100), list: ["a", "b"], n: -1.5 });
    assert.deepEqual([one?.name, one?.startMs, one?.endMs], ["one", 1_000, 2_000.5]);
  });

  for (const protocol of ["http/protobuf", "http/json"] as const) {
    it(`the exporter compresses requests as ${protocol} with gzip on request`, async () => {
      const { spans } = start({ protocol, compression: "gzip" });
      for (let count = 0; count < 50; count += 1) add(spans, `number ${count}`);
      spans.flush();
      await eventually(
        () => receiver.spans.length,
        (length) => length === 50,
      );
      const [request] = receiver.requests;
      assert.equal(request?.headers["content-encoding"], "gzip");
      assert.ok(request.bytes < 10_000, String(request.bytes));
      assert.equal(receiver.spans[49]?.name, "number 49");
    });
  }

  it("the exporter repeats a request after the time that a busy endpoint names, and then sends it once", async () => {
    const statuses = [429, 503];
    receiver.intercept = (_request, response) => {
      const status = statuses.shift();
      if (status === undefined) return false;
      response.writeHead(status, { "retry-after": "7" }).end();
      return true;
    };
    const { clock, spans, dropped } = start({ timeoutMs: 600_000 });
    add(spans, "busy");
    spans.flush();
    for (const [requests, passedMs] of [
      [1, 0],
      [2, 7_000],
      [3, 14_000],
    ] as const) {
      await eventually(
        () => (clock.pass(100), receiver.requests.length),
        (length) => length === requests,
      );
      assert.ok(clock.monotonic() >= passedMs, String(clock.monotonic()));
    }
    await eventually(
      () => receiver.spans.length,
      (length) => length === 1,
    );
    assert.deepEqual([receiver.requests.length, dropped()], [3, 0]);
  });

  it("the exporter counts the items that the endpoint rejects, as a whole or in part", async () => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, warn: (event, fields) => void lines.push(`${event} ${JSON.stringify(fields)}`) };
    const { spans, dropped } = start({ log });
    receiver.intercept = (_request, response) => (response.writeHead(400).end("bad"), true);
    add(spans, "whole");
    spans.flush();
    await eventually(dropped, (count) => count === 1);
    // ExportTraceServiceResponse { partial_success { rejected_spans: 1, error_message: "no" } }
    receiver.intercept = (_request, response) => (
      response
        .writeHead(200, { "content-type": "application/x-protobuf" })
        .end(Buffer.from([0x0a, 6, 0x08, 1, 0x12, 2, 0x6e, 0x6f])),
      true
    );
    add(spans, "in part");
    add(spans, "in part");
    spans.flush();
    await eventually(dropped, (count) => count === 2);
    assert.match(lines.join("\n"), /rejected in part.*"rejected":1,"message":"no"/);
    assert.doesNotMatch(lines.join("\n"), /of-the-collector/);
  });

  it("D10: telemetry for an endpoint that is away stays below its bound, and drops are counted", async () => {
    const { spans, made, dropped, clock } = start(
      { urls: { traces: "http://127.0.0.1:9/v1/traces" } },
      { waiting: 20_000, batch: 2_000 },
    );
    for (let count = 0; count < 1_000; count += 1) add(spans, "away");
    assert.equal(made(), 1_000);
    assert.ok(dropped() > 800, String(dropped()));
    const lost = dropped();
    // Attempts go on, and free no room.
    await eventually(
      () => (clock.pass(1_000), clock.monotonic()),
      (passed) => passed > 60_000,
    );
    add(spans, "still away");
    assert.equal(dropped(), lost + 1);
  });

  it("the exporter gives up a request that an endpoint does not answer in time, and tries again", async () => {
    let open = 0;
    receiver.intercept = () => ((open += 1), open === 1);
    const { clock, spans } = start({ timeoutMs: 2_000 });
    add(spans, "slow");
    spans.flush();
    await eventually(
      () => open,
      (count) => count === 1,
    );
    clock.pass(2_000);
    await eventually(
      () => (clock.pass(100), receiver.spans.length),
      (length) => length === 1,
    );
  });
});
