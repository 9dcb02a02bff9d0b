/** Records spans of work that is not a visitor's request. */
import type { SpanRecorder } from "../lib/span-recorder.ts";
import type { Sampling } from "../lib/telemetry-words.ts";
import type { HandOver } from "./hand-over.ts";
import { makeSampler } from "./sampler.ts";
import { writeSpan } from "./span.ts";
import { newSpanId, newTraceId, parseTraceparent } from "./trace-context.ts";

/** Failed work is always recorded. */
export function makeSpanRecorder(spans: HandOver, sampling: Sampling): SpanRecorder {
  const isSampled = makeSampler(sampling);
  return {
    record({ name, kind, startedAt, endedAt, error, attributes, traceparent }) {
      const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
      const traceId = parent?.traceId ?? newTraceId();
      const sampled = isSampled(traceId, parent);
      if (!sampled && error === undefined) return;
      const parentId = parent?.spanId;
      const place = { traceId, spanId: newSpanId(), parentId, isRemote: parent !== undefined, isSampled: sampled };
      spans.add((to) => writeSpan(to, { ...place, name, kind, startedAt, endedAt, error }, attributes));
    },
  };
}
