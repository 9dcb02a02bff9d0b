/** The agent: its tunnels, and the lines to the server that they are published over. */
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

/** Sessions of an agent at a server that has as many edges, or more. */
const usualConnections = 4;

export interface AgentOptions {
  readonly server: ServerAddress;
  /** Tried in turn where that one cannot be reached, takes no agents, or says that it is about to stop. */
  readonly otherServers?: readonly ServerAddress[];
  /**
   * How many sessions it has at once; unless given as many as the server has edges, and at most `usualConnections`. With
   * others than one it tells the server which sessions belong together. They begin at the servers in turn.
   */
  readonly connections?: number | undefined;
  /** The CA that the server must be certified by, PEM; the system's when absent. */
  readonly ca: string | undefined;
  readonly token: string;
  /** The way there; the system's unless given. */
  readonly connect?: ConnectOptions;
  /** Shown with the session. */
  readonly metadata: string;
  /** What is published; none of them: the session alone. */
  readonly tunnels: readonly TunnelOptions[];
  /** Whether the server may stop it, have it connect again, and ask for its `exchanges`; it may unless given. */
  readonly remoteManagement?: boolean;
  /** 10 s and 15 s unless given. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
  /** How long the server may take to answer a question, milliseconds; 30 s unless given. */
  readonly answerMs?: number;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** How long what is under way may go on when a session is left, milliseconds; 10 s unless given. */
  readonly finishMs?: number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying when the very first connection fails. */
  readonly retryFirst: boolean;
  /** For how long to go on trying without a session, milliseconds; for ever unless given. */
  readonly giveUpMs?: number | undefined;
  readonly status: (status: AgentStatus) => void;
  /** Says what has been kept of requests, and sends them again; nothing is kept unless given. */
  readonly exchanges?: ExchangeKeeper | undefined;
  /** Told how long requests took at the server, of tunnels with `wantsTimes`: lines as `tunnel/request-times.ts` has them. */
  readonly requestTimes?: ((lines: Buffer) => void) | undefined;
}

export type AgentStatus =
  | { readonly state: "connecting" }
  | {
      readonly state: "online";
      /** Round trip to the server, measured while authenticating. */
      readonly latencyMs: number;
    }
  | {
      readonly state: "waiting";
      readonly reason: string;
      readonly pauseMs: number;
      /** Since when there has been no session, as `Clock.now` has it. */
      readonly since: number;
    };

export interface Agent {
  /** Resolves when the agent has given up for a reason that trying again does not mend; never after `close`. */
  readonly ended: Promise<AgentEnd>;
  /** Publishes one more tunnel, as `Tunnels.add`; it outlives losses as the others do. */
  readonly add: Tunnels["add"];
  /** Takes one away, as `Tunnels.remove`. */
  readonly remove: Tunnels["remove"];
  /** Takes the tunnels away, lets what is under way end within a bound, says goodbye and closes. */
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
  /** The server lets no tunnel be in several sessions. */
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
      status(told) {
        // While another has a session, the agent is online as it was.
        if (isAlone()) status(told);
      },
      published(edges, nodes) {
        haveEnough(edges);
        if (nodes > 0 && agentId !== undefined) spread.begin();
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
  /** Sessions for a server of so many edges. */
  const haveEnough = (edges: number): void => {
    const wanted = options.connections ?? Math.min(edges, usualConnections);
    if (isOver || isSingle) return;
    while (lines.length < wanted) startNext();
  };
  const spread = keepSpread({ clock, random: options.random, lines, counted: haveEnough });
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
