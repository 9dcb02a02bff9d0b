/** Distributes an agent's sessions over as many nodes as possible, while nodes come and go. */
import { letGo } from "../lib/boundary.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { ServerCount } from "../tunnel/client-hooks.ts";
import type { Line } from "./line.ts";

export interface SpreadOptions {
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** All lines of the agent. The array may grow. */
  readonly lines: readonly Pick<Line, "isOnline" | "place" | "count" | "spread" | "hurry">[];
  /** Whether the agent has several server addresses. Each probably leads to another node. */
  readonly hasAddresses: boolean;
  /** Receives the server's current number of edges. */
  readonly counted: (edges: number) => void;
}

export interface Spread {
  /**
   * Called with each new session at a server that is, or may become, one of several nodes. Starts looking, and looks soon
   * if all sessions are at one node.
   */
  begin(): void;
  stop(): void;
}

/** Interval between questions to the server, milliseconds. */
const lookMs = 30_000;
/**
 * The same while all sessions of an agent with several addresses are at one node, milliseconds. With the time that an
 * attempt takes, such an agent has sessions at two nodes within 10 s after the second node has arrived.
 */
const alertMs = 5_000;
/** Longest interval, in units of `lookMs`, while attempts with a single address keep reaching the same nodes. */
const longestPause = 32;
/** Time for an answer, before another session is asked, milliseconds. */
const answerMs = 2_000;

export function keepSpread({ clock, random, lines, hasAddresses, counted }: SpreadOptions): Spread {
  let timer: Timer | undefined;
  let isOver = false;
  let pause = 1;
  let lastNodes = 0;
  let isLooking = false;
  let waitsLong = false;

  const nodesHeld = (): ReadonlySet<string> => new Set(lines.flatMap(({ place }) => place?.nodeId ?? []));
  /** Asks one session after the other, because the node of a session may be unreachable. */
  const count = async (): Promise<ServerCount | undefined> => {
    for (const line of lines) {
      const answer = line.isOnline ? await inTime(clock, line.count()) : undefined;
      if (answer) return answer;
    }
    return undefined;
  };
  const look = async (): Promise<void> => {
    const answer = await count();
    if (!answer || isOver) return;
    counted(answer.edges);
    if (answer.nodes !== lastNodes) pause = 1;
    lastNodes = answer.nodes;
    if (nodesHeld().size >= Math.min(answer.nodes, lines.length)) {
      pause = 1;
      return;
    }
    for (const line of lines) if (!line.isOnline) line.hurry();
    const held = lines.map(({ place }) => place?.nodeId);
    const crowded = lines.find((_line, at) => held[at] !== undefined && held.indexOf(held[at]) < at);
    if (!crowded) return;
    const hasMoved = await crowded.spread();
    pause = hasMoved || hasAddresses ? 1 : Math.min(pause * 2, longestPause);
  };
  const isAlert = (): boolean => hasAddresses && nodesHeld().size < 2;
  const again = (): void => {
    isLooking = false;
    if (isOver) return;
    waitsLong = !isAlert();
    timer = clock.after((waitsLong ? lookMs * pause : alertMs) * (0.5 + random() / 2), () => {
      isLooking = true;
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
      if (isLooking || (timer && !(waitsLong && isAlert()))) return;
      timer?.cancel();
      again();
    },
    stop() {
      isOver = true;
      timer?.cancel();
    },
  };
}

/** Resolves with undefined if the promise rejects or takes too long. */
async function inTime<Answer>(clock: Clock, asked: Promise<Answer>): Promise<Answer | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = clock.after(answerMs, () => late.resolve(undefined));
  const answer = await Promise.race([asked.catch(() => undefined), late.promise]);
  timer.cancel();
  return answer;
}
