/** Chance in small pieces: asking the system for a few bytes costs as much as for many. */
import { randomFillSync } from "node:crypto";

const pool = Buffer.alloc(4096);
let taken = pool.length;

/** `length` bytes from the system's random source, which nobody else has or gets: at most 4096. */
export function chance(length: number): Buffer {
  if (length > pool.length) throw new Error(`take ${length} bytes of chance: there are ${pool.length} at once`);
  if (taken + length > pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  const piece = Buffer.from(pool.subarray(taken, taken + length));
  // What was given out may be a secret: it is not kept here as well.
  pool.fill(0, taken, (taken += length));
  return piece;
}
