/**
 * One line of the agent to the server: a state machine that connects out, publishes, forwards, and comes back after every
 * loss with the same session, the same tunnels and the same URLs (agent-protocol, "Rules of the server").
 */
import { runUnattended } from "../lib/boundary.ts";
import type { ServerCount } from "../tunnel/client-hooks.ts";
import type { Clock } from "../lib/clock.ts";
import type { AgentOptions } from "./agent-options.ts";
import { pauseMs } from "./backoff.ts";
import { connectServer } from "./connect.ts";
import type { ServerAddress } from "./connect.ts";
import { describeLoss, endOf } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { openSession } from "./agent-session.ts";
import type { Resumption, Session } from "./agent-session.ts";
import type { BoundTunnels } from "./session-tunnels.ts";
import type { Tunnels } from "./tunnel-set.ts";

/** The edge and node at which a session is. */
export interface SessionPlace {
  readonly server: ServerAddress;
  readonly edges: number;
  readonly edgeId: string;
  readonly nodes: number;
  readonly nodeId: string;
}

/** What a search looks for: a node or an edge without a session of the agent. */
export type Sought = "node" | "edge";

/** A point in time on both clocks of `Clock`. */
export interface ClockReading {
  readonly now: number;
  readonly monotonic: number;
}

export interface LineOptions extends AgentOptions {
  /** Id shared with the sessions of the agent's other lines; undefined if this line is the only one. */
  readonly agentId: string | undefined;
  /** The tunnels of all lines. */
  readonly lineTunnels: Tunnels;
  /** Index of the server to try first, modulo their number. */
  readonly firstServer: number;
  /** Whether no other line has a session, so that the end of this one ends the agent. */
  readonly isAlone: () => boolean;
  /** When the last session of any line was lost. */
  readonly lostAt: () => ClockReading;
  /** Whether no line has had a session yet. */
  readonly isFirst: () => boolean;
  /** Whether another line already has a session at this edge or node while others have none. */
  readonly crowded: (place: SessionPlace) => "edge" | "node" | undefined;
  /** Whether another line has a session at this place's node or edge. */
  readonly isHeld: (sought: Sought, place: Pick<SessionPlace, "nodeId" | "edgeId">) => boolean;
  /**
   * Called when each tunnel is open or was refused once.
   * @param edges number of the server's edges
   * @param nodes number of the server's nodes
   */
  readonly published: (edges: number, nodes: number) => void;
  /** Called when the server allows each tunnel in one session only: this line ends. */
  readonly needless: () => void;
  /** Called when the whole agent ends. */
  readonly end: (why: AgentEnd) => void;
}

export interface ServerLine {
  readonly isOnline: boolean;
  /** Where its session is. */
  readonly place: SessionPlace | undefined;
  /** When it lost its last session; undefined if it has not lost any. */
  readonly lostAt: ClockReading | undefined;
  /** Asks the server for its present number of edges and nodes; undefined without a session. */
  count(): Promise<ServerCount | undefined>;
  /**
   * Searches for a node or edge without a session of this agent, and moves the session there. Otherwise the session stays.
   * Resolves with whether it moves.
   */
  spread(sought: Sought): Promise<boolean>;
  /** Ends the pause before the next attempt, if the line waits. */
  hurry(): void;
  /** Waits a bounded time for open connections, says goodbye and closes. */
  close(): Promise<void>;
}

/** How a connection ended, and whether it reached a session. */
interface ConnectionEnd {
  readonly reason: string | undefined;
  readonly atOnce: boolean;
  readonly wasOnline: boolean;
}

const last: ConnectionEnd = { reason: undefined, atOnce: false, wasOnline: false };

/** A session that lasted this long resets the pause to the shortest. */
const steadyMs = 10_000;
/**
 * Attempts to reach an edge or node that has no session of this agent yet. The system or a balancer chooses, and the
 * last attempt is used whatever it reached. The server still counts nodes that have just died, and then all agents
 * reconnect together.
 */
const maxSpread = { edge: 24, node: 4 };
/** Longest time to connect during a search, because the present session continues, milliseconds. */
const searchMs = 3_000;

export function startLine(options: LineOptions): ServerLine {
  const line = new RunningLine(options);
  line.start();
  return line;
}

/** A session that serves until its replacement is ready, or with `stays` until the server closes it. */
interface Former {
  readonly session: Session;
  readonly stays: boolean;
  readonly gone: AbortSignal;
}

class RunningLine implements ServerLine {
  place: SessionPlace | undefined;
  lostAt: ClockReading | undefined;
  readonly #options: LineOptions;
  readonly #servers: readonly ServerAddress[];
  readonly #closing = new AbortController();
  readonly #kept: BoundTunnels = new WeakMap();
  #session: Session | undefined;
  #former: Former | undefined;
  #resumption: Resumption | undefined;
  readonly #staying = new Set<Session>();
  readonly #left = new Map<Session, Promise<void>>();
  /** Number of attempts that had to reach another place than the one before. */
  #turn: number;
  /** The session that replaces the present one next, at another node. */
  #found: { readonly session: Session; readonly place: SessionPlace } | undefined;
  #isSearching = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#servers = [options.server, ...(options.otherServers ?? [])];
    this.#turn = options.firstServer;
  }

  get isOnline(): boolean {
    return this.#session !== undefined || this.#former !== undefined;
  }

  start(): void {
    this.#running = this.#run();
  }

  async count(): Promise<ServerCount | undefined> {
    return await this.#session?.count();
  }

  async spread(sought: Sought): Promise<boolean> {
    const present = this.#session;
    if (!present || this.#isSearching) return false;
    this.#isSearching = true;
    try {
      const found = await this.#search(sought);
      if (!found) return false;
      if (this.#session !== present || this.#closing.signal.aborted) {
        await this.#leave(found.session);
        return false;
      }
      this.#found = found;
      present.move();
      return true;
    } finally {
      this.#isSearching = false;
    }
  }

  hurry(): void {
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const all = [this.#session, this.#found?.session, this.#former?.session, ...this.#staying].filter(
      (one) => one !== undefined,
    );
    await Promise.all([...all.map((one) => this.#leave(one)), ...this.#left.values(), this.#running]);
  }

  async #run(): Promise<void> {
    const { clock, status } = this.#options;
    const { signal } = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      if (!this.#former) status({ state: "connecting" });
      const since = clock.monotonic();
      const { reason, atOnce, wasOnline } = await this.#connectOnce();
      this.#session = undefined;
      if (!this.#former) this.place = undefined;
      if (!wasOnline || this.#former?.stays) this.#turn += 1;
      if (signal.aborted || reason === undefined) return;
      if (wasOnline) this.lostAt = { now: clock.now(), monotonic: clock.monotonic() };
      failures = clock.monotonic() - since >= steadyMs ? 1 : failures + 1;
      if (this.#found || (atOnce && failures === 1)) continue;
      const goesOn = await this.#waits(reason, failures);
      if (goesOn === undefined) return;
      failures = goesOn;
    }
  }

  /**
   * Waits for the next attempt. Returns the number of consecutive failures, or undefined if there is no next attempt.
   */
  async #waits(reason: string, failures: number): Promise<number | undefined> {
    const { clock, log, status, giveUpMs = Infinity } = this.#options;
    const pause = pauseMs(failures, this.#options.random);
    const offline = this.#options.lostAt();
    if (this.#options.isAlone() && clock.monotonic() - offline.monotonic + pause > giveUpMs) {
      this.#options.end({ reason: "unreachable", message: reason });
      return undefined;
    }
    log.debug("reconnecting", { reason, pauseMs: pause });
    const { signal } = this.#closing;
    const former = this.#former;
    if (!former) status({ state: "waiting", reason, pauseMs: pause, since: offline.now });
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await sleepUntilAborted(clock, pause, AbortSignal.any([signal, woken.signal, ...(former ? [former.gone] : [])]));
    return former?.gone.aborted ? 0 : failures;
  }

  #leave(one: Session): Promise<void> {
    const leaving = this.#left.get(one) ?? one.close().finally(() => this.#left.delete(one));
    this.#left.set(one, leaving);
    return leaving;
  }

  /** The old session serves until the new one is ready, or until the server closes it. */
  #replace(before: Session, stays: boolean): void {
    const gone = new AbortController();
    const replaced = { session: before, stays, gone: gone.signal };
    this.#former = replaced;
    const left = before.closed.then(() => {
      this.#staying.delete(before);
      if (this.#former === replaced) this.#former = undefined;
      gone.abort();
    });
    runUnattended("session", left);
  }

  /** Opens a session, if possible at an edge that has none of this agent's sessions. */
  async #open(server: ServerAddress): Promise<Session> {
    const { ca, connect, lineTunnels: tunnels, crowded } = this.#options;
    const { signal } = this.#closing;
    for (let attempt = 1; ; attempt += 1) {
      const socket = await connectServer(server, ca, signal, connect);
      // The new session has its own id: resuming the old one would end it.
      const resumed = this.#former ? undefined : this.#resumption;
      const opened = await openSession(socket, this.#options, tunnels, this.#kept, resumed, signal);
      const { edges, edgeId, nodes, nodeId } = opened;
      this.place = { server, edges, edgeId, nodes, nodeId };
      const held = crowded(this.place);
      if (!held || attempt >= maxSpread[held] || signal.aborted) return opened;
      await this.#leave(opened);
    }
  }

  /** Opens a session at a place that has none of this agent's. Tries each address, and a single address several times. */
  async #search(sought: Sought): Promise<{ readonly session: Session; readonly place: SessionPlace } | undefined> {
    const { ca, lineTunnels: tunnels, isHeld } = this.#options;
    const { timeoutMs = searchMs } = this.#options.connect ?? {};
    const connect = { ...this.#options.connect, timeoutMs: Math.min(timeoutMs, searchMs) };
    const { signal } = this.#closing;
    const attempts = Math.max(this.#servers.length, maxSpread[sought]);
    for (let attempt = 1; attempt <= attempts && !signal.aborted; attempt += 1) {
      const server = this.#servers[(this.#turn + attempt) % this.#servers.length] as ServerAddress;
      try {
        const socket = await connectServer(server, ca, signal, connect);
        const session = await openSession(
          socket,
          { ...this.#options, connect },
          tunnels,
          this.#kept,
          undefined,
          signal,
        );
        const { edges, edgeId, nodes, nodeId } = session;
        const present = sought === "node" ? this.place?.nodeId === nodeId : this.place?.edgeId === edgeId;
        if (!present && !isHeld(sought, session)) {
          this.#turn += attempt;
          return { session, place: { server, edges, edgeId, nodes, nodeId } };
        }
        await this.#leave(session);
      } catch {
        // The next address may lead to a node that accepts agents.
      }
    }
    return undefined;
  }

  /** Returns the session that a search has found, or opens one. */
  async #begin(): Promise<Session> {
    const found = this.#found;
    this.#found = undefined;
    if (!found) return await this.#open(this.#servers[this.#turn % this.#servers.length] as ServerAddress);
    this.place = found.place;
    return found.session;
  }

  /** Runs one connection from start to end. `reason` is undefined if no other follows. */
  async #connectOnce(): Promise<ConnectionEnd> {
    const { status, published, end, needless } = this.#options;
    try {
      const opened = await this.#begin();
      this.#session = opened;
      this.#resumption = opened.resumption;
      status({ state: "online", latencyMs: opened.latencyMs });
      const before = this.#former;
      this.#former = undefined;
      if (before?.stays) this.#staying.add(before.session);
      let isPublished = false;
      const publishing = opened.publish().then(() => {
        // If the new session is lost first, the former one continues to serve.
        isPublished = this.#session === opened;
        if (isPublished && before && !before.stays) runUnattended("session", this.#leave(before.session));
        published(opened.edges, opened.nodes);
      });
      runUnattended("session", publishing);
      const over = await opened.ended;
      if (!isPublished && before && !before.gone.aborted) this.#former = before;
      if (over.kind === "lost") {
        if (over.atOnce) this.#replace(opened, over.stays === true);
        return { ...over, wasOnline: true };
      }
      if (over.kind === "over") end(over.end);
      else {
        needless();
        await this.#leave(opened);
      }
    } catch (error) {
      const why = this.#closing.signal.aborted ? undefined : this.#fails(error);
      if (why) return why;
    }
    return last;
  }

  /** The connection reached no session. Returns undefined if no other attempt follows. */
  #fails(error: unknown): ConnectionEnd | undefined {
    const { isAlone, isFirst, retryFirst, firstServer, end } = this.#options;
    const isTriedElsewhere = this.#turn - firstServer + 1 < this.#servers.length;
    const goesOn = !isFirst() || retryFirst || isTriedElsewhere;
    const why = isAlone() ? endOf(error, goesOn) : undefined;
    if (!why) return { reason: describeLoss(error), atOnce: false, wasOnline: false };
    end(why);
    return undefined;
  }
}

/** Resolves after `delayMs`, or immediately when `signal` is aborted. */
async function sleepUntilAborted(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(delayMs, resolve);
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake);
  await promise;
  timer.cancel();
  // The signal lives as long as the agent, which waits any number of times.
  signal.removeEventListener("abort", wake);
}
