/** That there is something new to ask for: told by the server, and asked for no more often than is useful. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openLive } from "../ui/live.ts";
import type { Live, LiveState } from "../ui/live.ts";

/** Grow with each change of configuration, and with each request that ended. */
export const configurationChanges = signal(0);
export const trafficChanges = signal(0);
export const liveState = signal<LiveState>("connecting");

let live: Live | undefined;

export function startLive(): void {
  live?.close();
  live = openLive({
    url: "/console/live",
    opened: () => {
      configurationChanges.value += 1;
      trafficChanges.value += 1;
    },
    events: {
      revision: () => (configurationChanges.value += 1),
      requests: () => (trafficChanges.value += 1),
    },
  });
  live.state.subscribe((state) => (liveState.value = state));
}

export function stopLive(): void {
  live?.close();
  live = undefined;
}

/** How often what comes and goes by itself is read again: no revision tells of it. */
export const rereadMs = 5_000;

/** Runs every 5 s or more while the page is looked at. Returns what ends that. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) run();
  }, ms);
  return () => clearInterval(timer);
}

/** Runs at once, and then so while the part is shown. */
export function useEvery(ms: number, run: () => void, on: readonly unknown[]): void {
  useEffect(() => {
    run();
    return every(ms, run);
  }, on);
}
