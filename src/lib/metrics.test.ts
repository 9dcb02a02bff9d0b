import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { labelMetrics, sumMetrics } from "./metrics-sum.ts";
import { makeMetrics } from "./metrics.ts";
import { toOpenMetrics, wantsOpenMetrics } from "./open-metrics.ts";

const trace = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", isSampled: true };

function observed() {
  const metrics = makeMetrics(() => 1_000_500);
  metrics.counter("postern_a_total", "Counts.", { kind: "x" }).add(2);
  const times = metrics.histogram("postern_seconds", "Times.", [0.1, 1]);
  times.observe(0.05);
  times.observe(0.5, trace);
  times.observe(5, { ...trace, isSampled: false });
  return metrics;
}

describe("metrics", () => {
  it("metrics have exemplars only on request, of recorded traces, in the bucket of the value", () => {
    assert.doesNotMatch(observed().render(), /trace_id/);
    const lines = observed()
      .render(true)
      .split("\n")
      .filter((line) => line.includes("trace_id"));
    assert.deepEqual(lines, [`postern_seconds_bucket{le="1"} 2 # {trace_id="${trace.traceId}"} 0.5 1000.5`]);
  });

  it("metrics of several processes are added up with their exemplars", () => {
    const text = observed().render(true);
    const sum = sumMetrics([labelMetrics(text, "edge", "1"), labelMetrics(text, "edge", "2"), text, text]);
    assert.match(sum, /^postern_a_total\{kind="x"\} 4$/m);
    assert.match(sum, /^postern_seconds_bucket\{le="1"\} 4 # \{trace_id="4bf9\w+"\} 0\.5 1000\.5$/m);
    assert.match(sum, /^postern_seconds_bucket\{le="1",edge="2"\} 2 # \{trace_id="4bf9\w+"\} 0\.5 1000\.5$/m);
  });

  it("metrics in OpenMetrics name families of counters without their suffix, and end with a mark", () => {
    const text = toOpenMetrics(observed().render(true));
    assert.match(text, /^# TYPE postern_a counter\npostern_a_total\{kind="x"\} 2\n/m);
    assert.match(text, /\n# EOF\n$/);
  });

  for (const [accept, wants] of [
    [
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
      true,
    ],
    ["text/plain;version=0.0.4", false],
    ["application/openmetrics-text; q=0, */*", false],
    [undefined, false],
  ] as const) {
    it(`metrics are ${wants ? "" : "not "}in OpenMetrics for ${accept ?? "a client without Accept"}`, () => {
      assert.equal(wantsOpenMetrics(accept), wants);
    });
  }
});
