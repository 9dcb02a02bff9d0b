/** The position in a trace, as requests carry it (W3C Trace Context). */
import { randomFillSync } from "node:crypto";

/** Ids are lower-case hexadecimal digits. */
export interface TraceContext {
  readonly traceId: string;
  /** Id of the span of the sender. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Versions above 00 may append further parts, which are ignored (§3.2.4). */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const sampledFlag = 1;
/** Maximum length of a `tracestate` that is passed on (§3.3.1.5 requires at least 512). */
const maxState = 512;

/** Returns undefined for a value that must be ignored. */
export function parseTraceparent(value: string): TraceContext | undefined {
  const parts = form.exec(value);
  if (parts === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = parts;
  if (version === "00" && rest !== undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

/** Returns the list members of all `tracestate` fields, or undefined without any, or beyond the limit. */
export function joinTraceState(values: readonly string[]): string | undefined {
  const state = values.filter((value) => value !== "").join(",");
  return state === "" || state.length > maxState ? undefined : state;
}

const pool = Buffer.alloc(8192);
let used = pool.length;

export function newTraceId(): string {
  return randomDigits(16);
}

export function newSpanId(): string {
  return randomDigits(8);
}

/** Random bytes are drawn in bulk, as for the ids of requests. Ids that are zero throughout are invalid. */
function randomDigits(bytes: number): string {
  for (;;) {
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const digits = pool.toString("hex", used, (used += bytes));
    if (!/^0+$/.test(digits)) return digits;
  }
}
