/** Ids of requests and connections: of what there is far more than of objects. */
import { randomFillSync } from "node:crypto";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Every pair of base-36 digits. */
const pairs: readonly string[] = Array.from(
  { length: 36 * 36 },
  (_, index) => `${alphabet[Math.floor(index / 36)]}${alphabet[index % 36]}`,
);
/** Values below this are spread evenly over the pairs. */
const evenValues = Math.floor(0x10000 / pairs.length) * pairs.length;
const randomPairs = 9;

const pool = new Uint16Array(4096);
let unused = 0;
let lastMs = 0;
let timePart = "";

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
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    timePart = Math.floor(nowMs).toString(36).padStart(9, "0");
  }
  let id = prefix + timePart;
  for (let count = 0; count < randomPairs;) {
    if (unused === 0) {
      randomFillSync(pool);
      unused = pool.length;
    }
    const value = pool[(unused -= 1)] as number;
    if (value >= evenValues) continue;
    id += pairs[value % pairs.length];
    count += 1;
  }
  return id;
}
