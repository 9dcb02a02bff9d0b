/**
 * The agent: one state machine that connects out, publishes, forwards, and comes back after every loss with the
 * same session, the same tunnels and the same URLs (agent-protocol, "What the server keeps to").
 */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { pauseMs } from "./backoff.ts";
import { connectServer } from "./connect.ts";
import type { ConnectOptions, ServerAddress } from "./connect.ts";
import { describeLoss, endOf } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { openSession } from "./session.ts";
import type { Resumption, Session } from "./session.ts";
import type { TunnelOptions } from "./tunnel.ts";
import { makeTunnels } from "./tunnels.ts";
import type { Kept } from "./tunnels.ts";

export interface AgentOptions {
  readonly server: ServerAddress;
  /** Tried in turn where that one cannot be reached, takes no agents, or says that it is about to stop. */
  readonly otherServers?: readonly ServerAddress[];
  /** The CA that the server must be certified by, PEM; the system's when absent. */
  readonly ca: string | undefined;
  readonly token: string;
  /** The way there; the system's unless given. */
  readonly connect?: ConnectOptions;
  /** Shown with the session. */
  readonly metadata: string;
  /** What is published; none of them: the session alone. */
  readonly tunnels: readonly TunnelOptions[];
  /** Whether the server may stop it, or have it connect again; it may unless given. */
  readonly remoteManagement?: boolean;
  /** 10 s and 15 s unless given. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
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
  /** Takes the tunnels away, lets what is under way end within a bound, says goodbye and closes. */
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

export function startAgent(options: AgentOptions): Agent {
  const { clock, log, status } = options;
  const closing = new AbortController();
  const ended = Promise.withResolvers<AgentEnd>();
  let session: Session | undefined;
  let resumption: Resumption | undefined;
  /** It serves until there is another; `stays`: until the server closes it. */
  let former: { readonly session: Session; readonly stays: boolean; readonly gone: AbortSignal } | undefined;
  const staying = new Set<Session>();
  const leaving = new Set<Promise<void>>();
  const servers = [options.server, ...(options.otherServers ?? [])];
  /** Attempts that were to be made elsewhere than the one before. */
  let turn = 0;
  const kept: Kept = new Map();

  const tunnels = makeTunnels(options.tunnels, options);
  let offlineSince = clock.now();

  const run = async (): Promise<void> => {
    let failures = 0;
    let offline = clock.monotonic();
    while (!closing.signal.aborted) {
      if (!former) status({ state: "connecting" });
      const since = clock.monotonic();
      const { reason, atOnce, wasOnline } = await connectOnce();
      session = undefined;
      if (!wasOnline || former?.stays) turn += 1;
      if (closing.signal.aborted || reason === undefined) return;
      if (wasOnline) {
        offlineSince = clock.now();
        offline = clock.monotonic();
      }
      failures = clock.monotonic() - since >= steadyMs ? 1 : failures + 1;
      if (atOnce && failures === 1) continue;
      const pause = pauseMs(failures, options.random);
      if (clock.monotonic() - offline + pause > (options.giveUpMs ?? Infinity)) {
        end({ reason: "unreachable", message: reason });
        return;
      }
      log.debug("reconnecting", { reason, pauseMs: pause });
      if (former) {
        const { gone } = former;
        await sleep(clock, pause, AbortSignal.any([closing.signal, gone]));
        if (gone.aborted) failures = 0;
        continue;
      }
      status({ state: "waiting", reason, pauseMs: pause, since: offlineSince });
      await sleep(clock, pause, closing.signal);
    }
  };
  const end = (why: AgentEnd): void => {
    leaveAll();
    tunnels.stop();
    void Promise.all(leaving).then(() => ended.resolve(why));
  };
  const leave = (left: Session | undefined): void => {
    if (!left) return;
    const closed = left.close().finally(() => leaving.delete(closed));
    leaving.add(closed);
  };
  const leaveAll = (): void => {
    leave(former?.session);
    for (const one of staying) leave(one);
  };
  /** The session serves on until there is another, or the server closes it. */
  const replace = (left: Session, stays: boolean): void => {
    const gone = new AbortController();
    const replaced = { session: left, stays, gone: gone.signal };
    former = replaced;
    void left.closed.then(() => {
      staying.delete(left);
      if (former === replaced) former = undefined;
      gone.abort();
    });
  };
  /** One connection from beginning to end. `reason` undefined: there will be no other. */
  const connectOnce = async (): Promise<Connected> => {
    try {
      const server = servers[turn % servers.length] as ServerAddress;
      const socket = await connectServer(server, options.ca, closing.signal, options.connect);
      const own = tunnels.join(kept);
      // A session of its own: resuming that of the former would end it.
      session = await openSession(socket, options, tunnels, own, former ? undefined : resumption, closing.signal);
      resumption = session.resumption;
      status({ state: "online", latencyMs: session.latencyMs });
      const left = former;
      former = undefined;
      if (left?.stays) staying.add(left.session);
      void session.publish().then(() => left?.stays || leave(left?.session));
      const over = await session.ended;
      if (over.kind === "lost") {
        if (over.atOnce) replace(session, over.stays === true);
        return { ...over, wasOnline: true };
      }
      leave(session);
      end(over.end);
    } catch (error) {
      if (closing.signal.aborted) return last;
      const isTriedElsewhere = turn + 1 < servers.length;
      const why = endOf(error, resumption !== undefined || options.retryFirst || isTriedElsewhere);
      if (!why) return { reason: describeLoss(error), atOnce: false, wasOnline: false };
      end(why);
    }
    return last;
  };
  const running = run();
  return {
    ended: ended.promise,
    async close() {
      const current = session;
      closing.abort();
      tunnels.stop();
      leaveAll();
      leave(current);
      await Promise.all([...leaving, running]);
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
