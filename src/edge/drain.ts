import type { Clock } from "../lib/clock.ts";
import type { DataPlane } from "./data-plane.ts";

const drainCheckMs = 20;

/** Lets requests and connections in flight end by themselves; resolves when they have, or after `boundMs`. */
export function drained({ context, splices }: DataPlane, clock: Clock, boundMs: number): Promise<void> {
  for (const connection of context.connections) connection.drain();
  const isDone = (): boolean => context.connections.size + splices.open === 0;
  if (isDone()) return Promise.resolve();
  const endsAt = clock.monotonic() + boundMs;
  return new Promise((resolve) => {
    const timer = clock.every(drainCheckMs, () => {
      if (!isDone() && clock.monotonic() < endsAt) return;
      timer.cancel();
      resolve();
    });
  });
}
