/** Ids of requests and connections: of what there is far more than of objects. */
import { randomFillSync } from "node:crypto";

const digits = Buffer.from("0123456789abcdefghijklmnopqrstuvwxyz");
const pairCount = digits.length ** 2;
/** Every pair of base-36 digits, one behind the other. */
const pairs = Buffer.from(
  Array.from({ length: pairCount }, (_, index) => [
    digits[Math.floor(index / digits.length)] as number,
    digits[index % digits.length] as number,
  ]).flat(),
);
/** Values below this are spread evenly over the pairs. */
const evenValues = Math.floor(0x10000 / pairCount) * pairCount;
const prefixLength = 4;
const timeLength = 9;
const randomPairs = 9;

const pool = new Uint16Array(4096);
let unused = 0;
let lastMs = 0;
/** The last id: prefix, time, random digits. Read as one piece, it is a string that costs nothing more to write. */
const id = Buffer.alloc(prefixLength + timeLength + 2 * randomPairs);

export function newRequestId(nowMs: number): string {
  return newTrafficId("req_", nowMs);
}

export function newConnectionId(nowMs: number): string {
  return newTrafficId("con_", nowMs);
}

/**
 * A new id in the form of all ids: time in milliseconds, then 93 random bits. Random bytes are drawn in bulk: one call
 * into OpenSSL per request would cost more than parsing it.
 */
function newTrafficId(prefix: string, nowMs: number): string {
  for (let at = 0; at < prefixLength; at += 1) id[at] = prefix.charCodeAt(at);
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    id.latin1Write(Math.floor(nowMs).toString(36).padStart(timeLength, "0"), prefixLength, timeLength);
  }
  for (let at = prefixLength + timeLength; at < id.length;) {
    if (unused === 0) {
      randomFillSync(pool);
      unused = pool.length;
    }
    const value = pool[(unused -= 1)] as number;
    if (value >= evenValues) continue;
    const pair = 2 * (value % pairCount);
    id[at] = pairs[pair] as number;
    id[at + 1] = pairs[pair + 1] as number;
    at += 2;
  }
  return id.latin1Slice(0, id.length);
}
