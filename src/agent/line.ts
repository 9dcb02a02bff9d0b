/**
 * One line of the agent to the server: a state machine that connects out, publishes, forwards, and comes back after every
 * loss with the same session, the same tunnels and the same URLs (agent-protocol, "What the server keeps to").
 */
import type { Clock } from "../lib/clock.ts";
import type { AgentOptions } from "./agent.ts";
import { pauseMs } from "./backoff.ts";
import { connectServer } from "./connect.ts";
import type { ServerAddress } from "./connect.ts";
import { describeLoss, endOf } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { openSession } from "./session.ts";
import type { Resumption, Session } from "./session.ts";
import type { Kept, Tunnels } from "./tunnels.ts";

/** Where a session is. */
export interface Place {
  readonly server: ServerAddress;
  readonly edges: number;
  readonly edgeId: string;
}

/** When something happened, as both of `Clock` have it. */
export interface Moment {
  readonly now: number;
  readonly monotonic: number;
}

export interface LineOptions extends AgentOptions {
  /** What its sessions share with those of other lines; undefined: nothing. */
  readonly agentId: string | undefined;
  /** Of all lines. */
  readonly lineTunnels: Tunnels;
  /** Which of the servers comes first, as a count that goes round. */
  readonly firstServer: number;
  /** Whether no other line has a session: what ends this one ends the agent. */
  readonly isAlone: () => boolean;
  /** When the last session of all lines was lost. */
  readonly lostAt: () => Moment;
  /** Whether no line has had a session yet. */
  readonly isFirst: () => boolean;
  /** Whether another line has a session there, while there are edges that none has one at. */
  readonly isCrowded: (place: Place) => boolean;
  /** Its tunnels are open, or were refused once. @param edges how many the server has */
  readonly published: (edges: number) => void;
  /** The agent is over. */
  readonly end: (why: AgentEnd) => void;
}

export interface Line {
  readonly isOnline: boolean;
  /** Of its session. */
  readonly place: Place | undefined;
  /** When it lost its last session; undefined while it has lost none. */
  readonly lostAt: Moment | undefined;
  /** Lets what is under way end within a bound, says goodbye and closes. */
  close(): Promise<void>;
}

/** How a connection ended, and whether it came to a session. */
interface Connected {
  readonly reason: string | undefined;
  readonly atOnce: boolean;
  readonly wasOnline: boolean;
}

const last: Connected = { reason: undefined, atOnce: false, wasOnline: false };

/** A session that held this long was a good one: the next pause is the shortest again. */
const steadyMs = 10_000;
/** Connections that are made to come to an edge of its own; the system chooses, and the last one is kept. */
const maxSpread = 16;

export function startLine(options: LineOptions): Line {
  const { clock, log, status, lineTunnels: tunnels } = options;
  const closing = new AbortController();
  let session: Session | undefined;
  let place: Place | undefined;
  let lostAt: Moment | undefined;
  let resumption: Resumption | undefined;
  /** It serves until there is another; `stays`: until the server closes it. */
  let former: { readonly session: Session; readonly stays: boolean; readonly gone: AbortSignal } | undefined;
  const staying = new Set<Session>();
  const left = new Map<Session, Promise<void>>();
  const servers = [options.server, ...(options.otherServers ?? [])];
  /** Attempts that were to be made elsewhere than the one before. */
  let turn = options.firstServer;
  const kept: Kept = new Map();

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      if (!former) status({ state: "connecting" });
      const since = clock.monotonic();
      const { reason, atOnce, wasOnline } = await connectOnce();
      session = undefined;
      if (!former) place = undefined;
      if (!wasOnline || former?.stays) turn += 1;
      if (closing.signal.aborted || reason === undefined) return;
      if (wasOnline) lostAt = { now: clock.now(), monotonic: clock.monotonic() };
      failures = clock.monotonic() - since >= steadyMs ? 1 : failures + 1;
      if (atOnce && failures === 1) continue;
      const pause = pauseMs(failures, options.random);
      const offline = options.lostAt();
      if (options.isAlone() && clock.monotonic() - offline.monotonic + pause > (options.giveUpMs ?? Infinity)) {
        options.end({ reason: "unreachable", message: reason });
        return;
      }
      log.debug("reconnecting", { reason, pauseMs: pause });
      if (former) {
        const { gone } = former;
        await sleep(clock, pause, AbortSignal.any([closing.signal, gone]));
        if (gone.aborted) failures = 0;
        continue;
      }
      status({ state: "waiting", reason, pauseMs: pause, since: offline.now });
      await sleep(clock, pause, closing.signal);
    }
  };
  const leave = (one: Session): Promise<void> => {
    const leaving = left.get(one) ?? one.close().finally(() => left.delete(one));
    left.set(one, leaving);
    return leaving;
  };
  /** The session serves on until there is another, or the server closes it. */
  const replace = (before: Session, stays: boolean): void => {
    const gone = new AbortController();
    const replaced = { session: before, stays, gone: gone.signal };
    former = replaced;
    void before.closed.then(() => {
      staying.delete(before);
      if (former === replaced) former = undefined;
      gone.abort();
    });
  };
  /** A session, at an edge of its own where that can be had. */
  const open = async (server: ServerAddress): Promise<Session> => {
    for (let attempt = 1; ; attempt += 1) {
      const socket = await connectServer(server, options.ca, closing.signal, options.connect);
      // A session of its own: resuming that of the former would end it.
      const resumed = former ? undefined : resumption;
      const opened = await openSession(socket, options, tunnels, tunnels.join(kept), resumed, closing.signal);
      place = { server, edges: opened.edges, edgeId: opened.edgeId };
      if (attempt === maxSpread || closing.signal.aborted || !options.isCrowded(place)) return opened;
      await leave(opened);
    }
  };
  /** One connection from beginning to end. `reason` undefined: there will be no other. */
  const connectOnce = async (): Promise<Connected> => {
    try {
      const opened = await open(servers[turn % servers.length] as ServerAddress);
      session = opened;
      resumption = opened.resumption;
      status({ state: "online", latencyMs: opened.latencyMs });
      const before = former;
      former = undefined;
      if (before?.stays) staying.add(before.session);
      void opened.publish().then(() => {
        if (before && !before.stays) void leave(before.session);
        options.published(opened.edges);
      });
      const over = await opened.ended;
      if (over.kind === "lost") {
        if (over.atOnce) replace(opened, over.stays === true);
        return { ...over, wasOnline: true };
      }
      options.end(over.end);
    } catch (error) {
      if (closing.signal.aborted) return last;
      const isTriedElsewhere = turn - options.firstServer + 1 < servers.length;
      const goesOn = !options.isFirst() || options.retryFirst || isTriedElsewhere;
      const why = options.isAlone() ? endOf(error, goesOn) : undefined;
      if (!why) return { reason: describeLoss(error), atOnce: false, wasOnline: false };
      options.end(why);
    }
    return last;
  };
  const running = run();
  return {
    get isOnline() {
      return session !== undefined || former !== undefined;
    },
    get place() {
      return place;
    },
    get lostAt() {
      return lostAt;
    },
    async close() {
      closing.abort();
      const all = [session, former?.session, ...staying].filter((one) => one !== undefined);
      await Promise.all([...all.map(leave), ...left.values(), running]);
    },
  };
}

/** Resolves after `delayMs`, or at once when `signal` is aborted. */
async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = clock.after(delayMs, resolve);
    signal.addEventListener("abort", () => {
      timer.cancel();
      resolve();
    });
  });
}
