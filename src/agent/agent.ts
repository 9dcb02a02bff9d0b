/** The agent: its tunnels, and its connections to the server, each of which carries one session. */
import { runUnattended, logFailuresTo } from "../lib/boundary.ts";
import { randomBytes } from "node:crypto";

import type { AgentEnd } from "./end.ts";

import { startLine } from "./reconnecting-line.ts";
import type { ServerLine } from "./reconnecting-line.ts";
import { keepSpread } from "./spread.ts";

import { makeTunnels } from "./tunnel-set.ts";
import type { Tunnels } from "./tunnel-set.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Number of sessions at a server with this many edges or more. */
const usualConnections = 4;

export interface Agent {
  /** Resolves when the agent gives up for a permanent reason. Does not resolve after `close`. */
  readonly ended: Promise<AgentEnd>;
  /** Publishes another tunnel, as `Tunnels.add` does. The tunnel survives reconnects like all others. */
  readonly add: Tunnels["add"];
  /** Removes a tunnel, as `Tunnels.remove` does. */
  readonly remove: Tunnels["remove"];
  /** Removes the tunnels, waits a bounded time for open connections, says goodbye and closes. */
  close(): Promise<void>;
}

export function startAgent(options: AgentOptions): Agent {
  const { clock, status } = options;
  logFailuresTo(options.log);
  const ended = Promise.withResolvers<AgentEnd>();
  const tunnels = makeTunnels(options.tunnels, options);
  const agentId = options.connections === 1 ? undefined : randomBytes(16).toString("hex");
  const lines: ServerLine[] = [];
  let isOver = false;
  /** Set when the server allows each tunnel in one session only. */
  let isSingle = false;

  const startedAt = { now: clock.now(), monotonic: clock.monotonic() };
  const startNext = (): ServerLine => {
    const at = lines.length;
    const otherLines = (): ServerLine[] => lines.filter((_one, index) => index !== at);
    const isAlone = (): boolean => otherLines().every(({ isOnline }) => !isOnline);
    const line = startLine({
      ...options,
      agentId,
      lineTunnels: tunnels,
      firstServer: at,
      isAlone,
      lostAt: () => lines.reduce((last, { lostAt }) => (lostAt && lostAt.now > last.now ? lostAt : last), startedAt),
      isFirst: () => lines.every(({ lostAt, isOnline }) => !lostAt && !isOnline),
      crowded({ server, edges, edgeId, nodes, nodeId }) {
        const places = otherLines().flatMap(({ place }) => place ?? []);
        const nodeIds = new Set(places.map((place) => place.nodeId));
        if (nodeIds.has(nodeId) && nodeIds.size < nodes) return "node";
        const edgeIds = new Set(places.flatMap((place) => (place.server === server ? [place.edgeId] : [])));
        return edgeIds.has(edgeId) && edgeIds.size < edges ? "edge" : undefined;
      },
      isHeld: (sought, { nodeId, edgeId }) =>
        otherLines().some(({ place }) => (sought === "node" ? place?.nodeId === nodeId : place?.edgeId === edgeId)),
      status(current) {
        // The agent stays online while another line has a session.
        if (isAlone()) status(current);
      },
      published(edges, nodes) {
        haveEnough(edges);
        if ((nodes > 0 || edges > 1) && agentId !== undefined) spread.begin();
      },
      needless() {
        if (!isSingle)
          options.log.warn("one session only", { reason: "this server supports only agents with one session" });
        isSingle = true;
      },
      end,
    });
    lines.push(line);
    return line;
  };
  /** Adds lines until there are enough for a server with this many edges. */
  const haveEnough = (edges: number): void => {
    const wanted = options.connections ?? Math.min(edges, usualConnections);
    if (isOver || isSingle) return;
    while (lines.length < wanted) startNext();
  };
  const hasAddresses = (options.otherServers ?? []).length > 0;
  const spread = keepSpread({ clock, random: options.random, lines, hasAddresses, counted: haveEnough });
  const closeAll = async (): Promise<void> => {
    isOver = true;
    spread.stop();
    tunnels.stop();
    await Promise.all(lines.map((line) => line.close()));
  };
  const end = (why: AgentEnd): void => {
    if (!isOver)
      runUnattended(
        "session",
        closeAll().then(() => ended.resolve(why)),
      );
  };
  startNext();
  const { add, remove } = tunnels;
  return { ended: ended.promise, add, remove, close: closeAll };
}
