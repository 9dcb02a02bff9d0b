/** Decides which traces are recorded, as the standard samplers of OpenTelemetry do. */
import type { Sampling } from "../lib/telemetry-words.ts";
import type { TraceContext } from "./trace-context.ts";

/** @param parent context of the client; undefined for a new trace */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

export function makeSampler({ sampler, ratio }: Sampling): Sampler {
  const heedsParent = sampler.startsWith("parentbased_");
  const own = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : ratio;
  const bound = own * 0x1_0000_0000_0000;
  // The last digits of a trace id are random (W3C Trace Context level 2), so all servers decide the same.
  return (traceId, parent) =>
    heedsParent && parent !== undefined
      ? parent.isSampled
      : own >= 1 || (own > 0 && Number.parseInt(traceId.slice(20), 16) < bound);
}
