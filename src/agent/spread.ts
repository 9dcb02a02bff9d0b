/** Distributes an agent's sessions over as many nodes as possible, or over the edges of a single node. */
import { runUnattended } from "../lib/boundary.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { ServerCount } from "../tunnel/client-hooks.ts";
import type { ServerLine } from "./reconnecting-line.ts";

export interface SpreadOptions {
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** All lines of the agent. The array may grow. */
  readonly lines: readonly Pick<ServerLine, "isOnline" | "place" | "count" | "spread" | "hurry">[];
  /** Whether the agent has several server addresses. Each probably leads to another node. */
  readonly hasAddresses: boolean;
  /** Receives the server's current number of edges. */
  readonly counted: (edges: number) => void;
}

export interface Spread {
  /**
   * Called with each new session at a server with several edges, or that is, or may become, one of several nodes. Starts
   * looking, and looks soon if all sessions are at one node or share an edge.
   */
  begin(): void;
  stop(): void;
}

/** Interval between questions to the server, milliseconds. */
const lookMs = 30_000;
/**
 * The same while all sessions of an agent with several addresses are at one node, or while an edge of a single node has
 * none of them, such as an edge that restarted, milliseconds. With the time that an attempt takes, such an agent has
 * sessions at two nodes, or at each edge, within 10 s after the node or edge has arrived.
 */
const alertMs = 5_000;
/** Longest interval, in units of the shortest, while attempts keep reaching the same places. */
const longestPause = 32;
/** Consecutive searches for an edge before they become less frequent. The system chooses the edge, so one may fail. */
const promptSearches = 3;
/** Time for an answer, before another session is asked, milliseconds. */
const answerMs = 2_000;

export function keepSpread({ clock, random, lines, hasAddresses, counted }: SpreadOptions): Spread {
  let timer: Timer | undefined;
  let isOver = false;
  let pause = 1;
  let lastNodes = 0;
  let lastEdgeSet = "";
  let failedSearches = 0;
  /** Number of looks until the next search for an edge. */
  let looksToSearch = 0;
  let isLooking = false;
  let waitsLong = false;

  /** Whether the server is not, or not yet, one of several nodes. */
  const isOnly = (): boolean => lines.every(({ place }) => (place?.nodes ?? 0) <= 1) && lastNodes <= 1;
  /** Returns a session that shares its edge, while another edge of a single node has none. */
  const crowdedAtEdge = (): (typeof lines)[number] | undefined => {
    if (!isOnly()) return undefined;
    const held = lines.map(({ place }) => place?.edgeId);
    const edges = Math.max(0, ...lines.map(({ place }) => place?.edges ?? 0));
    if (new Set(held.filter((one) => one !== undefined)).size >= edges) return undefined;
    return lines.find((_line, at) => held[at] !== undefined && held.indexOf(held[at]) < at);
  };
  const nodesHeld = (): ReadonlySet<string> => new Set(lines.flatMap(({ place }) => place?.nodeId ?? []));
  /** Asks one session after the other, because the node of a session may be unreachable. */
  const count = async (): Promise<ServerCount | undefined> => {
    for (const line of lines) {
      const answer = line.isOnline ? await inTime(clock, line.count()) : undefined;
      if (answer) return answer;
    }
    return undefined;
  };
  /** @param edgeSet names the edges of the server; "" if unknown */
  const spreadOverEdges = async (edgeSet: string): Promise<void> => {
    const crowded = crowdedAtEdge();
    if (!crowded || edgeSet !== lastEdgeSet) failedSearches = looksToSearch = 0;
    lastEdgeSet = edgeSet;
    looksToSearch -= 1;
    if (!crowded || looksToSearch > 0) return;
    const hasMoved = await crowded.spread("edge");
    failedSearches = hasMoved ? 0 : failedSearches + 1;
    looksToSearch =
      failedSearches < promptSearches ? 1 : Math.min(2 ** (failedSearches - promptSearches + 1), longestPause);
  };
  const spreadOverNodes = async ({ edges, nodes, edgeSet }: ServerCount): Promise<void> => {
    counted(edges);
    if (nodes !== lastNodes) pause = 1;
    lastNodes = nodes;
    if (nodesHeld().size >= Math.min(nodes, lines.length)) return await spreadOverEdges(edgeSet);
    for (const line of lines) if (!line.isOnline) line.hurry();
    const held = lines.map(({ place }) => place?.nodeId);
    const crowded = lines.find((_line, at) => held[at] !== undefined && held.indexOf(held[at]) < at);
    if (!crowded) return;
    const hasMoved = await crowded.spread("node");
    pause = hasMoved || hasAddresses ? 1 : Math.min(pause * 2, longestPause);
  };
  /** Whether the server has no nodes to count. Then only a new session leads to another look. */
  const isLone = (): boolean => lines.every(({ place }) => (place?.nodes ?? 0) === 0);
  const look = async (): Promise<void> => {
    const answer = await count();
    if (isOver) return;
    if (isLone()) await spreadOverEdges(answer?.edgeSet ?? "");
    else if (answer) await spreadOverNodes(answer);
  };
  const isAlert = (): boolean => (hasAddresses && nodesHeld().size < 2 && !isLone()) || crowdedAtEdge() !== undefined;
  const again = (): void => {
    isLooking = false;
    timer = undefined;
    waitsLong = !isAlert();
    if (isOver || (waitsLong && isLone())) return;
    const shortest = waitsLong ? lookMs : alertMs;
    const units = crowdedAtEdge() ? 1 : pause;
    timer = clock.after(shortest * units * (0.5 + random() / 2), () => {
      isLooking = true;
      // If the server does not answer, the next look asks again.
      runUnattended(
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
  const timeout = Promise.withResolvers<undefined>();
  const timer = clock.after(answerMs, () => timeout.resolve(undefined));
  const answer = await Promise.race([asked.catch(() => undefined), timeout.promise]);
  timer.cancel();
  return answer;
}
