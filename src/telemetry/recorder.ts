/** Records spans of work that is not a visitor's request. */
import type { SpanRecorder } from "../lib/span-recorder.ts";
import type { Sampling } from "../lib/telemetry-words.ts";
import type { HandOver } from "./hand-over.ts";
import { makeSampler } from "./sampler.ts";
import { writeSpan } from "./span.ts";
import { parseTraceparent, TracePlace } from "./trace-context.ts";

/** Failed work is always recorded. */
export function makeSpanRecorder(spans: HandOver, sampling: Sampling): SpanRecorder {
  const isSampled = makeSampler(sampling);
  return {
    record({ attributes, traceparent, ...head }) {
      const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
      const place = new TracePlace(parent, undefined);
      place.isSampled = isSampled(place, parent?.isSampled);
      if (place.isSampled || head.error !== undefined) spans.add((to) => writeSpan(to, place, "own", head, attributes));
    },
  };
}
