/** Distributes an agent's sessions over as many nodes as possible, while nodes come and go. */
import { letGo } from "../lib/boundary.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Line } from "./line.ts";

export interface SpreadOptions {
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** All lines of the agent. The array may grow. */
  readonly lines: readonly Line[];
  /** Receives the server's current number of edges. */
  readonly counted: (edges: number) => void;
}

export interface Spread {
  /** Starts looking because the server is, or may become, one of several nodes. Repeated calls have no effect. */
  begin(): void;
  stop(): void;
}

/** Interval between questions to the server, milliseconds. */
const lookMs = 30_000;
/** Longest interval, in units of `lookMs`, when attempts keep reaching the same node. */
const longestPause = 32;

export function keepSpread({ clock, random, lines, counted }: SpreadOptions): Spread {
  let timer: Timer | undefined;
  let isOver = false;
  let pause = 1;

  const look = async (): Promise<void> => {
    const count = await lines.find(({ isOnline }) => isOnline)?.count();
    if (!count || isOver) return;
    counted(count.edges);
    const held = lines.map(({ place }) => place?.nodeId);
    if (held.includes(undefined)) return;
    const crowded = lines.find((_line, at) => held.indexOf(held[at]) < at);
    if (!crowded || new Set(held).size >= count.nodes) {
      pause = 1;
      return;
    }
    crowded.spread();
    pause = Math.min(pause * 2, longestPause);
  };
  const again = (): void => {
    if (isOver) return;
    timer = clock.after(lookMs * pause * (0.5 + random() / 2), () => {
      // If the server does not answer, the next look asks again.
      letGo(
        "timer",
        look()
          .catch(() => undefined)
          .then(again),
      );
    });
  };
  return {
    begin() {
      if (!timer) again();
    },
    stop() {
      isOver = true;
      timer?.cancel();
    },
  };
}
