/**
 * The agent: one state machine that connects out, publishes, forwards, and comes back after every loss with the
 * same session, the same tunnel and the same URL (agent-protocol, "What the server keeps to").
 */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { pauseMs } from "./backoff.ts";
import { connectServer } from "./connect.ts";
import type { ServerAddress } from "./connect.ts";
import { describeLoss, endOf } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import type { PublishedProto, Publication } from "./publication.ts";
import type { WatchedRequest } from "./request-watch.ts";
import { watchService } from "./service-watch.ts";
import type { ServiceState } from "./service-watch.ts";
import { openSession } from "./session.ts";
import type { Resumption, Session } from "./session.ts";
import type { Upstream } from "./upstream.ts";

export interface AgentOptions {
  readonly server: ServerAddress;
  /** The CA that the server must be certified by, PEM; the system's when absent. */
  readonly ca: string | undefined;
  readonly token: string;
  readonly upstream: Upstream;
  readonly metadata: string;
  readonly publish: Publication;
  /** How visitors reach what is published; `https` unless given. Labelled tunnels serve edges of any kind. */
  readonly proto?: PublishedProto;
  /** Version of the PROXY protocol's header that the service wants before each connection; 0, the default: none. */
  readonly proxyProtocol?: 0 | 1 | 2;
  /** JSON or YAML, of what has an address of its own. */
  readonly trafficPolicy?: string | undefined;
  /** Others of the account may have its address as well, if they ask for it, too. */
  readonly pooling?: boolean;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying when the very first connection fails. */
  readonly retryFirst: boolean;
  readonly status: (status: AgentStatus) => void;
  readonly request: ((request: WatchedRequest) => void) | undefined;
  /**
   * The service has gone away, or has come back; it is taken to be there at first. Finding that out takes
   * connections of its own, which not every service can spare: absent, there are none.
   */
  readonly service?: (state: ServiceState) => void;
}

export type AgentStatus =
  | { readonly state: "connecting" }
  | {
      readonly state: "online";
      /** Absent for a labelled tunnel. */
      readonly url: string | undefined;
      /** Round trip to the server, measured while authenticating. */
      readonly latencyMs: number;
    }
  | { readonly state: "waiting"; readonly reason: string; readonly pauseMs: number };

export interface Agent {
  /** Resolves when the agent has given up for a reason that trying again does not mend; never after `close`. */
  readonly ended: Promise<AgentEnd>;
  /** Takes the tunnel away, says goodbye and closes. */
  close(): Promise<void>;
}

const over = { reason: undefined, atOnce: false } as const;

/** A session that held this long was a good one: the next pause is the shortest again. */
const steadyMs = 10_000;

export function startAgent(options: AgentOptions): Agent {
  const { clock, log, status } = options;
  const closing = new AbortController();
  const ended = Promise.withResolvers<AgentEnd>();
  let session: Session | undefined;
  let resumption: Resumption | undefined;

  const service = options.service && watchService(options.upstream, clock, options.service);

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      status({ state: "connecting" });
      const since = clock.monotonic();
      const { reason, atOnce } = await connectOnce();
      session = undefined;
      if (closing.signal.aborted || reason === undefined) return;
      failures = clock.monotonic() - since >= steadyMs ? 1 : failures + 1;
      if (atOnce && failures === 1) continue;
      const pause = pauseMs(failures, options.random);
      log.debug("reconnecting", { reason, pauseMs: pause });
      status({ state: "waiting", reason, pauseMs: pause });
      await sleep(clock, pause, closing.signal);
    }
  };
  /** One connection from beginning to end. `reason` undefined: there will be no other. */
  const connectOnce = async (): Promise<{ readonly reason: string | undefined; readonly atOnce: boolean }> => {
    try {
      const socket = await connectServer(options.server, options.ca, closing.signal);
      session = await openSession(socket, options, resumption, closing.signal, service);
      resumption = session.resumption;
      status({ state: "online", url: session.url, latencyMs: session.latencyMs });
      const end = await session.ended;
      if (end.kind === "lost") {
        if (end.atOnce) await session.close();
        return end;
      }
      await session.close();
      service?.stop();
      ended.resolve(end.end);
    } catch (error) {
      if (closing.signal.aborted) return over;
      const end = endOf(error, resumption !== undefined || options.retryFirst);
      if (!end) return { reason: describeLoss(error), atOnce: false };
      service?.stop();
      ended.resolve(end);
    }
    return over;
  };
  const running = run();
  return {
    ended: ended.promise,
    async close() {
      const current = session;
      closing.abort();
      service?.stop();
      await current?.close();
      await running;
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
