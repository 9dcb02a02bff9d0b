/** The position in a trace, as requests carry it (W3C Trace Context). */
import { randomFillSync } from "node:crypto";
import { takeRandomBytes as randomBytes } from "../lib/random-bytes.ts";

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

export const traceIdBytes = 16;
export const spanIdBytes = 8;
/** Bytes of the three ids of a place. */
const placeBytes = traceIdBytes + 2 * spanIdBytes;
/** Ids are made in blocks of random bytes, each part used once: a call into OpenSSL costs as much as many ids. */
const blockBytes = 128 * placeBytes;
let block = Buffer.alloc(0);
let used = 0;

/** Two hexadecimal digits of each byte. */
const digits = Buffer.from(Array.from({ length: 256 }, (_one, byte) => byte.toString(16).padStart(2, "0")).join(""));
const lineStart = Buffer.from("Traceparent: 00-");
const traceLineLength = lineStart.length + 2 * (traceIdBytes + spanIdBytes) + "--01\r\n".length;

/**
 * Place of an exchange in a trace: the trace's id, the id of the exchange's span, and one for the span of its forwarding.
 * They are written as bytes. Their texts are made on request.
 */
export class TracePlace {
  readonly bytes: Buffer;
  readonly at: number;
  /** The client's span. Undefined if the trace begins here. */
  readonly parentId: string | undefined;
  /** The client's `tracestate`. */
  readonly state: string | undefined;
  isSampled = false;
  /** The request was sent to an upstream. */
  isForwarded = false;

  constructor(parent: TraceContext | undefined, state: string | undefined) {
    if (used === block.length) {
      block = Buffer.allocUnsafeSlow(blockBytes);
      randomFillSync(block);
      used = 0;
    }
    this.bytes = block;
    this.at = used;
    used += placeBytes;
    this.parentId = parent?.spanId;
    this.state = state;
    if (parent !== undefined) this.bytes.write(parent.traceId, this.at, traceIdBytes, "hex");
  }

  get lineLength(): number {
    return traceLineLength;
  }

  get traceId(): string {
    return this.bytes.toString("hex", this.at, this.at + traceIdBytes);
  }

  get spanId(): string {
    return this.bytes.toString("hex", this.spanAt, this.spanAt + spanIdBytes);
  }

  /** Position of the exchange's span id. */
  get spanAt(): number {
    return this.at + traceIdBytes;
  }

  /** Position of the id of the forwarding's span, which the upstream gets as its parent. */
  get upstreamAt(): number {
    return this.at + traceIdBytes + spanIdBytes;
  }

  /** Writes the line for the upstream, `lineLength` bytes, and returns its end. */
  write(target: Buffer, start: number): number {
    let at = start;
    for (let index = 0; index < lineStart.length; index += 1, at += 1) target[at] = lineStart[index] as number;
    at = putDigits(target, at, this.bytes, this.at, traceIdBytes);
    target[at] = 45;
    at = putDigits(target, at + 1, this.bytes, this.upstreamAt, spanIdBytes);
    target[at] = 45;
    target[at + 1] = 48;
    target[at + 2] = this.isSampled ? 49 : 48;
    target[at + 3] = 13;
    target[at + 4] = 10;
    return at + 5;
  }
}

function putDigits(target: Buffer, start: number, source: Buffer, from: number, length: number): number {
  let at = start;
  for (let index = from; index < from + length; index += 1, at += 2) {
    const digit = 2 * (source[index] as number);
    target[at] = digits[digit] as number;
    target[at + 1] = digits[digit + 1] as number;
  }
  return at;
}

export function newSpanId(): Buffer {
  return randomBytes(spanIdBytes);
}
