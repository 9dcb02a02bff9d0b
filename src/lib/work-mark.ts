import { hash } from "node:crypto";

/**
 * Returns a number that identifies some work, such as a route in one revision, for the notes of a watched thread, see
 * `heartbeat.ts`. Never 0. Two marks of different work are equal with a probability of 1 in 2^48.
 */
export function markOf(...parts: readonly (string | number)[]): number {
  return hash("sha256", JSON.stringify(parts), "buffer").readUIntBE(0, 6) || 1;
}
