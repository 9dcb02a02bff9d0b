/** Decides which traces are recorded, as the standard samplers of OpenTelemetry do. */
import type { Sampling } from "../lib/telemetry-words.ts";
import type { TracePlace } from "./trace-context.ts";

/** @param parentSampled decision of the client; undefined for a new trace */
export type Sampler = (place: Pick<TracePlace, "bytes" | "at">, parentSampled: boolean | undefined) => boolean;

/** Position of the last 48 bits of a trace id, which are random (W3C Trace Context level 2), so all servers decide the same. */
const lastBits = 10;

export function makeSampler({ sampler, ratio }: Sampling): Sampler {
  const heedsParent = sampler.startsWith("parentbased_");
  const own = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : ratio;
  const bound = own * 0x1_0000_0000_0000;
  return ({ bytes, at }, parentSampled) =>
    heedsParent && parentSampled !== undefined ? parentSampled : bytes.readUIntBE(at + lastBits, 6) < bound;
}
