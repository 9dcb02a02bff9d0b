/** Keeps an agent's sessions at as many nodes as they can be at: nodes come and go while an agent runs. */
import { letGo } from "../lib/boundary.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Line } from "./line.ts";

export interface SpreadOptions {
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** All of the agent; more may come. */
  readonly lines: readonly Line[];
  /** The server has so many edges now. */
  readonly counted: (edges: number) => void;
}

export interface Spread {
  /** The server is one of several nodes, or may come to be. Harmless when repeated. */
  begin(): void;
  stop(): void;
}

/** How often the server is asked, milliseconds. */
const lookMs = 30_000;
/** Of that, where sessions that were opened elsewhere came to the same node again and again. */
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
      // A server that does not answer is asked again later.
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
