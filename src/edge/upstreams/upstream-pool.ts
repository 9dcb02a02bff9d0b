import type { ByteStream } from "../../lib/io/byte-stream.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { UpstreamContext, UpstreamLimits } from "./upstream-context.ts";
import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Timed } from "../../lib/deadlines.ts";
import { Queue } from "../../lib/queue.ts";
import type { Queued } from "../../lib/queue.ts";
import { Roster } from "../../lib/collections/roster.ts";
import { UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamUser } from "./upstream-user.ts";
import type { RequestTimes } from "../../tunnel/request-times.ts";

export interface PoolOptions {
  /**
   * Opens one more stream to the tunnel or address, ready for an HTTP/1.1 request. Calls `take` once, now or later. On
   * failure it passes undefined, the reason and its description. `exchange` is the requesting one, whose client the
   * stream's header names. Returns the pending opening if it can still be withdrawn.
   */
  readonly open: (
    exchange: Exchange,
    take: (stream: ByteStream | undefined, why?: RefusalName, detail?: string) => void,
  ) => PendingOpening | undefined;
  readonly context: UpstreamContext;
  /** Whether the streams end at an agent. The pool then recognises the agent's own refusals, such as a failed dial. */
  readonly isAgent: boolean;
  /** The tunnel of the streams, for events. */
  readonly tunnel?: ServingTunnel;
  /** Receives request durations if an agent requested them. */
  readonly timed?: (requestId: string, times: RequestTimes) => void;
  /** Whether streams are reused. */
  readonly reuse: boolean;
  /**
   * Names the client of an exchange if streams are bound to a client by a PROXY protocol header. Only that client's
   * exchanges then use them. Undefined if any client may use any stream.
   */
  readonly clientOf?: (exchange: Exchange) => string;
}

/** The streams to a tunnel or the connections to an address. */
export interface PoolPair {
  readonly http: UpstreamPool;
  /** Streams that do not speak HTTP. They are never reused. */
  readonly raw: UpstreamPool;
}

export interface PendingOpening {
  /**
   * Withdraws the opening because no request waits for it. Returns false if it has already begun. `take` is then
   * called.
   */
  withdraw(): boolean;
}

/**
 * A request without a stream. The opening is the one that it requested, or one taken over from a request that was
 * served earlier.
 */
interface WaitingRequest {
  readonly user: UpstreamUser;
  readonly line: ClientLine;
  readonly until: number;
  /** Positions in the queue of all requests and in the queue of the same client. Undefined if it no longer waits. */
  inAll: Queued<WaitingRequest> | undefined;
  inLine: Queued<WaitingRequest> | undefined;
  opening: PendingOpening | undefined;
}

/** Waiting requests of one client, and the streams that are being opened for them. */
interface ClientLine {
  readonly client: string;
  readonly waiting: Queue<WaitingRequest>;
  openings: number;
}

/** Key of streams that are not bound to a client. */
const anybody = "";

/**
 * The HTTP streams of one tunnel or address. Warm streams are reused, last in first out. Other requests wait for a new
 * stream or a free one, whichever is first. The pool opens no more streams than waiting requests need, because openings
 * without a user can overload an agent (R3). The creator of the pool closes it.
 */
export class UpstreamPool implements Timed {
  expiresAt = Infinity;
  readonly options: PoolOptions;
  /** Those that became idle last are at the end. The removal of another one moves the last one to its place. */
  readonly #idle = new Roster<UpstreamConnection>();
  readonly #busy = new Roster<UpstreamConnection>();
  readonly #waiting = new Queue<WaitingRequest>();
  readonly #byUser = new Map<UpstreamUser, WaitingRequest>();
  readonly #lines = new Map<string, ClientLine>();
  #closed = false;
  /** Set while the pool waits for a deadline. */
  #watch: Timer | undefined;

  constructor(options: PoolOptions) {
    this.options = options;
  }

  /** Number of requests in flight or waiting for a stream. */
  get outstanding(): number {
    return this.#busy.size + this.#waiting.size;
  }

  /** Number of idle warm streams. */
  get idle(): number {
    return this.#idle.size;
  }

  /**
   * Gives `user` a stream by `upstreamReady`, possibly before returning, or calls its `upstreamFailed`.
   * @param fresh whether to skip warm streams, because the last one was dead
   */
  request(user: UpstreamUser, fresh = false): void {
    if (this.#closed) {
      refuseUser(user, "tunnel_gone", true);
      return;
    }
    const client = this.options.clientOf?.(user.exchange) ?? anybody;
    const warm = fresh ? undefined : this.#takeIdle(client, user.isRepeatable);
    if (warm !== undefined) {
      this.#give(warm, user, true);
      return;
    }
    const { clock, deadlines, limits } = this.options.context;
    const begun = clock.monotonic();
    const waiting = this.#wait(user, client, deadlines.now + patienceOf(user, limits));
    let isCounted = true;
    const broke = (error: unknown, stream?: ByteStream): void => {
      if (isCounted) waiting.line.openings -= 1;
      isCounted = false;
      this.#openingBroke(waiting, stream, error);
    };
    const take: Parameters<PoolOptions["open"]>[1] = (stream, why, detail) => {
      try {
        waiting.line.openings -= 1;
        isCounted = false;
        this.#opened(stream, why, detail, waiting, begun);
      } catch (error) {
        broke(error, stream);
      }
    };
    try {
      if (this.#waiting.size === 1 || waiting.until < this.expiresAt) this.#watchUntil(waiting.until);
      const opening = this.options.open(user.exchange, take);
      if (opening !== undefined) waiting.opening = opening;
    } catch (error) {
      broke(error);
    }
  }

  /** Removes a user that no longer waits for a stream. */
  withdraw(user: UpstreamUser): void {
    const waiting = this.#byUser.get(user);
    if (waiting === undefined) return;
    this.#leave(waiting);
    this.#withdrawOpening(waiting);
  }

  /** Closes the stream that was idle longest, to make room for others in its session. Returns false if none is idle. */
  evict(): boolean {
    if (this.#idle.size === 0) return false;
    this.#idle.at(0).finish();
    return true;
  }

  /** Closes every stream because the tunnel is offline. Requests in flight fail. */
  close(): void {
    this.retire(0);
  }

  /** Stops accepting requests. Requests in flight fail after `boundMs`. */
  retire(boundMs: number): void {
    if (this.#closed) return;
    this.#closed = true;
    const { deadlines } = this.options.context;
    this.expiresAt = deadlines.now + boundMs;
    this.#watch ??= deadlines.add(this);
    for (const connection of this.#idle.members()) connection.finish();
    const waiting = this.#waiting.values();
    for (const one of waiting) this.#leave(one);
    for (const one of waiting) this.#withdrawOpening(one);
    for (const { user } of waiting) refuseUser(user, "tunnel_gone", true);
    if (boundMs === 0) this.#failBusy();
    else this.#mayBeOver();
  }

  /** Called when a connection has finished its exchange and can carry the next one. */
  release(connection: UpstreamConnection): void {
    this.#busy.delete(connection);
    if (this.#closed || !this.options.reuse) {
      connection.finish();
      this.#mayBeOver();
      return;
    }
    const next = this.#takeWaiting(connection.client);
    if (next !== undefined) {
      this.#withdrawOpening(next);
      this.#give(connection, next.user, true);
    } else this.#park(connection);
  }

  /**
   * Streams beyond the limit are kept briefly: with more visitors than idle streams, most requests would otherwise open
   * a stream. Streams of one client cannot be used by others, and are not kept.
   */
  #park(connection: UpstreamConnection): void {
    const { limits } = this.options.context;
    const isSurplus = this.#idle.size >= limits.maxIdleStreams;
    if (isSurplus && this.options.clientOf !== undefined) {
      connection.finish();
      return;
    }
    this.#idle.add(connection);
    if (isSurplus) connection.expireAfter(limits.surplusStreamMs);
  }

  /** Called when a connection is closed for good. */
  forget(connection: UpstreamConnection): void {
    if (this.#busy.delete(connection)) {
      this.#mayBeOver();
      return;
    }
    this.#idle.delete(connection);
  }

  expired(): void {
    if (this.#closed) {
      this.#failBusy();
      return;
    }
    const { limits, deadlines } = this.options.context;
    const expiredRequests = this.#takeLate(deadlines.now);
    for (const one of expiredRequests) this.#withdrawOpening(one);
    for (const { user } of expiredRequests) {
      const patienceMs = patienceOf(user, limits);
      refuseUser(user, "upstream_timeout", false, `no stream to the upstream was open within ${patienceMs / 1000} s`);
    }
  }

  #failBusy(): void {
    for (const connection of this.#busy.members()) connection.fail("tunnel_gone");
    this.#mayBeOver();
  }

  /** Stops the watch if the pool accepts no requests and none is in flight. */
  #mayBeOver(): void {
    if (this.#closed && this.#busy.size === 0) this.#endWatch();
  }

  #opened(
    stream: ByteStream | undefined,
    why: RefusalName | undefined,
    detail: string | undefined,
    asker: WaitingRequest,
    begun: number,
  ): void {
    const { line } = asker;
    const { client } = line;
    asker.opening = undefined;
    this.#drop(line);
    if (stream === undefined) {
      // The streams being opened are enough for the waiting requests.
      if (line.openings >= line.waiting.size) return;
      const reason = why ?? (this.options.isAgent ? "tunnel_gone" : "upstream_refused");
      const refused = this.#takeWaiting(client);
      this.#hand(refused, asker);
      if (refused !== undefined) refuseUser(refused.user, reason, true, detail);
      return;
    }
    if (this.#closed) {
      stream.abort();
      return;
    }
    const connection = new UpstreamConnection(this, stream, client, this.options.context.clock.monotonic() - begun);
    const next = this.#takeWaiting(client);
    if (next === undefined) {
      this.release(connection);
      return;
    }
    this.#hand(next, asker);
    this.#give(connection, next.user, false);
  }

  /** Handles an error in our code while a stream was opened. Only the request that caused the opening ends. */
  #openingBroke(asker: WaitingRequest, stream: ByteStream | undefined, error: unknown): void {
    stream?.abort();
    this.#leave(asker);
    this.#drop(asker.line);
    asker.user.upstreamBroke(error);
  }

  /**
   * Called when `served` got the stream that `asker` had requested. If `asker` still waits, it takes over the opening
   * of `served`. Otherwise that opening is withdrawn.
   */
  #hand(served: WaitingRequest | undefined, asker: WaitingRequest): void {
    if (served === undefined || served === asker) return;
    if (asker.inAll !== undefined) {
      asker.opening = served.opening;
      served.opening = undefined;
    } else {
      this.#withdrawOpening(served);
    }
  }

  #withdrawOpening(waiting: WaitingRequest | undefined): void {
    if (waiting?.opening?.withdraw() === true) this.#openingDone(waiting.line);
  }

  #openingDone(line: ClientLine): void {
    line.openings -= 1;
    this.#drop(line);
  }

  #wait(user: UpstreamUser, client: string, until: number): WaitingRequest {
    let line = this.#lines.get(client);
    if (line === undefined) this.#lines.set(client, (line = { client, waiting: new Queue(), openings: 0 }));
    const waiting: WaitingRequest = { user, line, until, inAll: undefined, inLine: undefined, opening: undefined };
    waiting.inAll = this.#waiting.add(waiting);
    waiting.inLine = line.waiting.add(waiting);
    line.openings += 1;
    this.#byUser.set(user, waiting);
    return waiting;
  }

  /** Removes the request from the queues. */
  #leave(waiting: WaitingRequest): void {
    const { line, inAll, inLine, user } = waiting;
    if (inAll === undefined || inLine === undefined) return;
    this.#waiting.delete(inAll);
    line.waiting.delete(inLine);
    waiting.inAll = waiting.inLine = undefined;
    this.#byUser.delete(user);
    this.#drop(line);
  }

  /**
   * Removes and returns requests whose time is over, and sets the watch to the next deadline. Routes have their own
   * timeouts.
   */
  #takeLate(now: number): readonly WaitingRequest[] {
    const expiredRequests: WaitingRequest[] = [];
    let next = Infinity;
    for (const waiting of this.#waiting.values()) {
      if (waiting.until <= now) expiredRequests.push(waiting);
      else next = Math.min(next, waiting.until);
    }
    for (const waiting of expiredRequests) this.#leave(waiting);
    this.#watchUntil(next);
    return expiredRequests;
  }

  /** Forgets a client without waiting requests and openings. */
  #drop(line: ClientLine): void {
    if (line.openings === 0 && line.waiting.size === 0) this.#lines.delete(line.client);
  }

  /**
   * Returns the last stream that became idle.
   * @param isRepeatable whether a stream may be used that its other end may be closing
   */
  #takeIdle(client: string, isRepeatable: boolean): UpstreamConnection | undefined {
    let at = this.#idle.size - 1;
    while (at >= 0 && this.#idle.at(at).client !== client) at -= 1;
    if (at < 0) return undefined;
    const newest = this.#idle.at(at);
    const { deadlines, limits } = this.options.context;
    if (!isRepeatable && deadlines.now - newest.idleSince >= limits.sureStreamMs) return undefined;
    this.#idle.delete(newest);
    return newest;
  }

  /** Returns the request that has waited longest. */
  #takeWaiting(client: string): WaitingRequest | undefined {
    const first = this.#lines.get(client)?.waiting.first;
    if (first !== undefined) this.#leave(first);
    return first;
  }

  #give(connection: UpstreamConnection, user: UpstreamUser, warm: boolean): void {
    try {
      this.#busy.add(connection);
      user.upstreamReady(connection, warm);
    } catch (error) {
      connection.abort();
      user.upstreamBroke(error);
    }
  }

  #watchUntil(until: number): void {
    this.expiresAt = until;
    if (until === Infinity) this.#endWatch();
    else this.#watch ??= this.options.context.deadlines.add(this);
  }

  #endWatch(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
  }
}

/** Returns how long a request waits for a stream. */
function patienceOf({ responseTimeoutMs }: UpstreamUser, limits: UpstreamLimits): number {
  return Math.min(limits.openTimeoutMs, responseTimeoutMs ?? limits.upstreamTimeoutMs);
}

/**
 * Refuses one request. An error that it throws ends only that request, because others wait in the same pool and behind
 * the same agent.
 */
function refuseUser(user: UpstreamUser, reason: RefusalName, unused: boolean, detail?: string): void {
  try {
    user.upstreamFailed(reason, unused, detail);
  } catch (error) {
    user.upstreamBroke(error);
  }
}
