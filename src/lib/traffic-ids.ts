/** Ids of requests and connections, which are far more numerous than objects. */
import { randomFillSync } from "node:crypto";

const digits = Buffer.from("0123456789abcdefghijklmnopqrstuvwxyz");
const pairCount = digits.length ** 2;
/** Every pair of base-36 digits, concatenated. */
const pairs = Buffer.from(
  Array.from({ length: pairCount }, (_, index) => [
    digits[Math.floor(index / digits.length)] as number,
    digits[index % digits.length] as number,
  ]).flat(),
);
/** Values below this are distributed evenly over the pairs. */
const evenValues = Math.floor(0x10000 / pairCount) * pairCount;
const prefixLength = 4;
const timeLength = 9;
const randomPairs = 9;

/** Characters of an id. */
export const trafficIdLength = prefixLength + timeLength + 2 * randomPairs;

const pool = new Uint16Array(4096);
let unused = 0;
let lastMs = 0;
const time = Buffer.alloc(timeLength);

/**
 * Ids are created in blocks of memory, from start to end, each part used once. A block of 2 kB is freed with the last
 * of its ids.
 */
const blockLength = 64 * trafficIdLength;
let block = Buffer.alloc(0);
let used = 0;

/**
 * An id in the form of all ids: time in milliseconds, then 93 random bits. It is written into messages as bytes. Its
 * text is created on request, which few forwarded requests need.
 */
export class TrafficId {
  readonly #bytes: Buffer;
  readonly #at: number;
  #text: string | undefined;

  /** @param prefix of four characters */
  constructor(prefix: string, nowMs: number) {
    if (used === block.length) {
      block = Buffer.allocUnsafeSlow(blockLength);
      used = 0;
    }
    this.#bytes = block;
    this.#at = used;
    used += trafficIdLength;
    writeId(this.#bytes, this.#at, prefix, nowMs);
  }

  get text(): string {
    return (this.#text ??= this.#bytes.latin1Slice(this.#at, this.#at + trafficIdLength));
  }

  /** Writes its `trafficIdLength` bytes and returns the end position. */
  write(target: Buffer, at: number): number {
    const bytes = this.#bytes;
    const from = this.#at;
    for (let index = 0; index < trafficIdLength; index += 1) target[at + index] = bytes[from + index] as number;
    return at + trafficIdLength;
  }
}

/** Returns when an id was made, milliseconds since 1970, or undefined for another text. */
export function timeOfId(id: string): number | undefined {
  const digitsOfTime = id.slice(prefixLength, prefixLength + timeLength);
  return /^[0-9a-z]{9}$/.test(digitsOfTime) ? Number.parseInt(digitsOfTime, 36) : undefined;
}

/** Returns the id that sorts before all ids of `ms` and later, and after all earlier ones. */
export function firstIdAt(prefix: string, ms: number): string {
  return prefix + Math.floor(ms).toString(36).padStart(timeLength, "0") + "0".repeat(2 * randomPairs);
}

export function newRequestId(nowMs: number): TrafficId {
  return new TrafficId("req_", nowMs);
}

export function newConnectionId(nowMs: number): string {
  return new TrafficId("con_", nowMs).text;
}

/** Random bytes are drawn in bulk: one call into OpenSSL per request would cost more than parsing it. */
function writeId(target: Buffer, start: number, prefix: string, nowMs: number): void {
  for (let at = 0; at < prefixLength; at += 1) target[start + at] = prefix.charCodeAt(at);
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    time.latin1Write(Math.floor(nowMs).toString(36).padStart(timeLength, "0"), 0, timeLength);
  }
  let at = start + prefixLength;
  for (let index = 0; index < timeLength; index += 1) target[at + index] = time[index] as number;
  at += timeLength;
  while (at < start + trafficIdLength) {
    if (unused === 0) {
      randomFillSync(pool);
      unused = pool.length;
    }
    const value = pool[(unused -= 1)] as number;
    if (value >= evenValues) continue;
    const pair = 2 * (value % pairCount);
    target[at] = pairs[pair] as number;
    target[at + 1] = pairs[pair + 1] as number;
    at += 2;
  }
}
