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

/** Runs at once, and every 5 s or more, while the part is shown and the page is looked at. */
export function useEvery(ms: number, run: () => void, on: readonly unknown[]): void {
  useEffect(() => {
    run();
    const timer = setInterval(() => {
      if (!document.hidden) run();
    }, ms);
    return () => clearInterval(timer);
  }, on);
}
