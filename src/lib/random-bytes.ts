/** Random bytes in small pieces: one system call for a few bytes costs as much as one for many. */
import { randomFillSync } from "node:crypto";

const pool = Buffer.alloc(4096);
let taken = pool.length;

/** Returns `length` bytes from the system's random source, unique to the caller. Maximum: 4096. */
export function takeRandomBytes(length: number): Buffer {
  if (length > pool.length) throw new Error(`take ${length} bytes of chance: there are ${pool.length} at once`);
  if (taken + length > pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  const piece = Buffer.from(pool.subarray(taken, taken + length));
  // Returned bytes may be a secret, so the pool does not keep a copy.
  pool.fill(0, taken, (taken += length));
  return piece;
}
