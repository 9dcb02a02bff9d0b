import { hash } from "node:crypto";

/**
 * A number that stands for some work, such as a route in one revision: what a watched thread notes of what it is at, see
 * `heartbeat.ts`. Never 0. Two marks of different work are the same once in 2^48.
 */
export function markOf(...parts: readonly (string | number)[]): number {
  return hash("sha256", JSON.stringify(parts), "buffer").readUIntBE(0, 6) || 1;
}
