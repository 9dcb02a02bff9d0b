/** Signals new data. The server reports changes, and the page reloads only as often as useful. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { checkSession } from "./api.ts";
import { openLive } from "../ui/live.ts";
import type { Live, LiveState } from "../ui/live.ts";

/** Counters that grow with each change of configuration, and with each finished request. */
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
  live.state.subscribe((state) => {
    liveState.value = state;
    // The server also closes the stream of a session that was ended.
    if (state === "away") void checkSession();
  });
}

export function stopLive(): void {
  live?.close();
  live = undefined;
}

/** Interval for reloading data that changes without a new revision. */
export const rereadMs = 5_000;

/** Runs every 5 s or more while the page is visible. Returns a function that stops it. */
export function repeatWhileVisible(ms: number, run: () => void): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) run();
  }, ms);
  return () => clearInterval(timer);
}

/** Runs immediately, and then repeatedly while the component is shown. */
export function useEvery(ms: number, run: () => void, on: readonly unknown[]): void {
  useEffect(() => {
    run();
    return repeatWhileVisible(ms, run);
  }, on);
}
