/** The agent: its tunnels, and its connections to the server, each of which carries one session. */
import { letGo, logFailuresTo } from "../lib/boundary.ts";
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ConnectOptions, ServerAddress } from "./connect.ts";
import type { AgentEnd } from "./end.ts";
import type { ExchangeKeeper } from "./exchange-keeper.ts";
import { startLine } from "./line.ts";
import type { Line } from "./line.ts";
import { keepSpread } from "./spread.ts";
import type { TunnelOptions } from "./tunnel.ts";
import { makeTunnels } from "./tunnels.ts";
import type { Tunnels } from "./tunnels.ts";

/** Number of sessions at a server with this many edges or more. */
const usualConnections = 4;

export interface AgentOptions {
  readonly server: ServerAddress;
  /** Servers to try in turn when `server` cannot be reached, takes no agents, or is about to stop. */
  readonly otherServers?: readonly ServerAddress[];
  /**
   * Number of simultaneous sessions. Default: the number of the server's edges, at most `usualConnections`. With more
   * than one, the agent tells the server which sessions belong together. The sessions start at the servers in turn.
   */
  readonly connections?: number | undefined;
  /** CA that must have issued the server's certificate, PEM. Default: the system's CAs. */
  readonly ca: string | undefined;
  readonly token: string;
  /** How to connect to the server. Default: as the system is configured. */
  readonly connect?: ConnectOptions;
  /** Shown with the session in the API. */
  readonly metadata: string;
  /** The tunnels to publish. Without tunnels the agent only keeps a session. */
  readonly tunnels: readonly TunnelOptions[];
  /** Whether the server may stop the agent, make it reconnect, and read its `exchanges`. Default: true. */
  readonly remoteManagement?: boolean;
  /** Default: 10 s, with a tolerance of 15 s. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
  /** Time limit for an answer of the server, milliseconds. Default: 30 s. */
  readonly answerMs?: number;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Time that open connections get when a session ends, milliseconds. Default: 10 s. */
  readonly finishMs?: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Whether to retry when the very first connection fails. */
  readonly retryFirst: boolean;
  /** How long to retry without a session, milliseconds. Default: no limit. */
  readonly giveUpMs?: number | undefined;
  readonly status: (status: AgentStatus) => void;
  /** Answers questions about captured requests and replays them. Without it nothing is captured. */
  readonly exchanges?: ExchangeKeeper | undefined;
  /**
   * Receives the time that requests took at the server, for tunnels with `wantsTimes`, in the format of
   * `tunnel/request-times.ts`.
   */
  readonly requestTimes?: ((lines: Buffer) => void) | undefined;
}

export type AgentStatus =
  | { readonly state: "connecting" }
  | {
      readonly state: "online";
      /** Round-trip time to the server, measured during authentication. */
      readonly latencyMs: number;
    }
  | {
      readonly state: "waiting";
      readonly reason: string;
      readonly pauseMs: number;
      /** When the last session ended, as `Clock.now` returns it. */
      readonly since: number;
    };

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
  const lines: Line[] = [];
  let isOver = false;
  /** Set when the server allows each tunnel in one session only. */
  let isSingle = false;

  const startedAt = { now: clock.now(), monotonic: clock.monotonic() };
  const startNext = (): Line => {
    const at = lines.length;
    const others = (): Line[] => lines.filter((_one, index) => index !== at);
    const isAlone = (): boolean => others().every(({ isOnline }) => !isOnline);
    const line = startLine({
      ...options,
      agentId,
      lineTunnels: tunnels,
      firstServer: at,
      isAlone,
      lostAt: () => lines.reduce((last, { lostAt }) => (lostAt && lostAt.now > last.now ? lostAt : last), startedAt),
      isFirst: () => lines.every(({ lostAt, isOnline }) => !lostAt && !isOnline),
      crowded({ server, edges, edgeId, nodes, nodeId }) {
        const places = others().flatMap(({ place }) => place ?? []);
        const nodeIds = new Set(places.map((place) => place.nodeId));
        if (nodeIds.has(nodeId) && nodeIds.size < nodes) return "node";
        const edgeIds = new Set(places.flatMap((place) => (place.server === server ? [place.edgeId] : [])));
        return edgeIds.has(edgeId) && edgeIds.size < edges ? "edge" : undefined;
      },
      isHeld: (sought, { nodeId, edgeId }) =>
        others().some(({ place }) => (sought === "node" ? place?.nodeId === nodeId : place?.edgeId === edgeId)),
      status(told) {
        // The agent stays online while another line has a session.
        if (isAlone()) status(told);
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
      letGo(
        "session",
        closeAll().then(() => ended.resolve(why)),
      );
  };
  startNext();
  const { add, remove } = tunnels;
  return { ended: ended.promise, add, remove, close: closeAll };
}
