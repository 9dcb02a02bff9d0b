/** The tunnels of an agent in one of its sessions: opened, tried again, and given what comes for them. */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { BoundTunnel, ClientSession } from "../tunnel/client-hooks.ts";
import type { ProxiedHeader } from "../tunnel/proxy-header.ts";
import { pauseMs } from "./backoff.ts";
import { bindTunnel, isMadeUp } from "./bind-tunnel.ts";
import type { MadePlace } from "./bind-tunnel.ts";
import { describeLoss, endOf, endOfTunnel } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { forward } from "./forward.ts";
import type { Http2RequestWatch } from "./http2-request-watch.ts";
import { RequestWatch } from "./request-watch.ts";
import type { ServiceWatch } from "./service-watch.ts";
import { describeServiceFault, isCertificateFault, WantsTls } from "./service-fault.ts";
import { bothWatch } from "./stream-watch.ts";
import type { StreamWatch } from "./stream-watch.ts";
import type { TunnelOptions } from "./tunnel.ts";

/** A tunnel that has not ended. */
export interface LivingTunnel {
  readonly options: TunnelOptions;
  readonly service: ServiceWatch | undefined;
  /** It came while the agent ran, and this is told how that went: refused once, it is over. */
  readonly added: PromiseWithResolvers<void> | undefined;
  /** It was open once. */
  wasOpen: boolean;
  /** The sessions that it is open in. */
  readonly openIn: Set<SessionTunnels>;
  /** Where it is published, once the server has made that up: the same in every session. */
  made: MadePlace | undefined;
  /** It is being made up. */
  making: Promise<void> | undefined;
}

/** What the sessions of one line to the server were given for each tunnel, one after the other. */
export type Kept = WeakMap<TunnelOptions, BoundTunnel>;

/** What all sessions of an agent have in common. */
export interface AllTunnels {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying to open a tunnel that never was open. */
  readonly retryFirst: boolean;
  readonly living: ReadonlySet<LivingTunnel>;
  readonly sessions: Set<SessionTunnels>;
  /** It has ended, for a reason that trying again does not mend. */
  readonly finish: (tunnel: LivingTunnel, end: AgentEnd) => void;
}

/** What tells of requests in HTTP/2: loaded with the first tunnel that has them. */
let http2Watch: typeof Http2RequestWatch | undefined;

export class SessionTunnels {
  readonly #all: AllTunnels;
  readonly #kept: Kept;
  readonly #alone: () => void;
  readonly #byId = new Map<string, LivingTunnel>();
  readonly #failures = new Map<LivingTunnel, number>();
  readonly #retries = new Map<LivingTunnel, Timer>();
  /** Undefined before the session has begun, and when it is gone. */
  #line: ClientSession | undefined;
  /** Nothing is opened in it any more. */
  #isPaused = false;
  /** It has begun, and is not about to be left: what is added is opened in it. */
  takesMore = false;

  /**
   * @param kept gets what this one is given
   * @param alone the server lets no tunnel be in another session beside this one
   */
  constructor(all: AllTunnels, kept: Kept, alone: () => void) {
    this.#all = all;
    this.#kept = kept;
    this.#alone = alone;
  }

  /** Opens all. Resolves when each is open or was refused once. */
  async open(line: ClientSession): Promise<void> {
    this.#line = line;
    this.takesMore = true;
    this.#all.sessions.add(this);
    await Promise.all([...this.#all.living].map((tunnel) => this.openOne(tunnel)));
  }

  /** Opens one. Resolves when it is open or was refused once. */
  async openOne(tunnel: LivingTunnel): Promise<void> {
    // One session has the server make up where it is; the others bring that.
    while (tunnel.making && !tunnel.made) await tunnel.making;
    const line = this.#line;
    if (!line || this.#isPaused || !this.#all.living.has(tunnel)) return;
    if (!isMadeUp(tunnel.options.publish) || tunnel.made) return this.#bind(line, tunnel);
    tunnel.making = this.#bind(line, tunnel).finally(() => (tunnel.making = undefined));
    await tunnel.making;
  }

  /** Nothing more is opened or tried; what comes is served. */
  pause(): void {
    this.takesMore = false;
    this.#isPaused = true;
    for (const retry of this.#retries.values()) retry.cancel();
    this.#retries.clear();
  }

  /** The session is gone: its ids mean nothing any more. */
  lost(): void {
    this.pause();
    this.#line = undefined;
    this.#byId.clear();
    const { living, sessions, finish } = this.#all;
    sessions.delete(this);
    for (const tunnel of living) {
      tunnel.openIn.delete(this);
      // Whoever asked for it is waiting, and may ask again.
      if (tunnel.added && !tunnel.wasOpen && sessions.size === 0) {
        finish(tunnel, { reason: "unreachable", message: "the session with the server was lost" });
      }
    }
  }

  /** Of the tunnel with this id in the session; undefined where there is none. */
  nameOf(tunnelId: string): string | undefined {
    return this.#byId.get(tunnelId)?.options.name;
  }

  /** A public connection to one of them. */
  proxied(tunnelId: string, { proto, clientAddress }: ProxiedHeader, stream: ByteStream): void {
    const tunnel = this.#byId.get(tunnelId);
    if (!tunnel) return stream.abort();
    const { clock, log } = this.#all;
    const { upstream, opened } = tunnel.options;
    const http = proto === "http" || proto === "https";
    const requests = http ? this.#requestWatch(tunnel.options) : undefined;
    const along = opened?.(clientAddress, http);
    forward(stream, {
      upstream,
      clock,
      http,
      isWatched: tunnel.service !== undefined,
      watch: requests && along ? bothWatch(requests, along) : (requests ?? along),
      unreachable(error) {
        const fields = { upstream: upstream.text, reason: describeServiceFault(upstream, error) };
        // The watch tells once that a service has gone. A service that is set up wrongly is named each time.
        if (error instanceof WantsTls || isCertificateFault(error))
          log.warn("connection to the service failed", fields);
        else if (tunnel.service) log.debug("connection to the service failed", fields);
        else log.warn("service unreachable", fields);
        // The watch would reach a service that wants TLS, and say that it is back.
        if (!(error instanceof WantsTls)) tunnel.service?.failed(error);
      },
    });
  }

  /** The server took one away. */
  stopped(tunnelId: string, message: string, code: string): void {
    const tunnel = this.#byId.get(tunnelId);
    this.#byId.delete(tunnelId);
    if (tunnel) this.#all.finish(tunnel, endOfTunnel(message, code));
  }

  /** It has ended: the session is not to have it any more. */
  drop(tunnel: LivingTunnel): void {
    for (const id of this.#forget(tunnel)) {
      this.#byId.delete(id);
      // Where the server has taken it away itself, this tells it nothing new.
      this.#line?.unbind(id).catch(() => {});
    }
  }

  /** Takes one away from the server; resolves when it has answered. What comes for it until then is served. */
  async take(tunnel: LivingTunnel): Promise<void> {
    const line = this.#line;
    await Promise.all(
      this.#forget(tunnel).map(async (id) => {
        await line?.unbind(id).catch(() => {});
        this.#byId.delete(id);
      }),
    );
  }

  /** Takes all away from the server; resolves when it has answered. What comes until then is served. */
  async unbind(given: ClientSession): Promise<void> {
    this.pause();
    await Promise.all([...this.#byId.keys()].map((id) => given.unbind(id).catch(() => {})));
  }

  #requestWatch({ upstream, request, proxyProtocol = 0 }: TunnelOptions): StreamWatch | undefined {
    if (!request) return undefined;
    const monotonic = (): number => this.#all.clock.monotonic();
    const Watch = upstream.http2 ? http2Watch : RequestWatch;
    return Watch && new Watch(monotonic, proxyProtocol !== 0, request);
  }

  /** It is not tried again. Returns its ids. */
  #forget(tunnel: LivingTunnel): string[] {
    this.#retries.get(tunnel)?.cancel();
    this.#retries.delete(tunnel);
    this.#failures.delete(tunnel);
    return [...this.#byId].flatMap(([id, one]) => (one === tunnel ? [id] : []));
  }

  async #bind(line: ClientSession, tunnel: LivingTunnel): Promise<void> {
    const before = this.#kept.get(tunnel.options) ?? tunnel.made;
    if (tunnel.options.upstream.http2) http2Watch ??= (await import("./http2-request-watch.ts")).Http2RequestWatch;
    try {
      await bindTunnel(line, tunnel.options, before, (id, bound) => this.#opened(line, tunnel, id, bound));
    } catch (error) {
      if (!this.#isPaused && this.#all.living.has(tunnel)) this.#refused(line, tunnel, error);
    }
  }

  #opened(line: ClientSession, tunnel: LivingTunnel, id: string, bound: BoundTunnel | undefined): void {
    if (this.#isPaused) return;
    if (!this.#all.living.has(tunnel)) {
      // It was taken away while it was asked for.
      line.unbind(id).catch(() => {});
      return;
    }
    const { options } = tunnel;
    this.#failures.delete(tunnel);
    tunnel.wasOpen = true;
    if (bound) this.#kept.set(options, bound);
    if (bound && isMadeUp(options.publish)) tunnel.made = { hostname: bound.hostname, address: bound.address };
    this.#byId.set(id, tunnel);
    tunnel.openIn.add(this);
    options.status?.({ state: "online", url: bound?.url });
    tunnel.added?.resolve();
  }

  #refused(line: ClientSession, tunnel: LivingTunnel, error: unknown): void {
    const { finish, retryFirst, random, clock } = this.#all;
    // What others have is not over because this session may not have it as well.
    const isElsewhere = tunnel.openIn.size > 0;
    if (isElsewhere && isOwnName(line, error)) return this.#alone();
    const isRetried = tunnel.wasOpen || (retryFirst && !tunnel.added);
    const end = isElsewhere ? undefined : endOf(error, isRetried);
    if (end) return finish(tunnel, end);
    const times = (this.#failures.get(tunnel) ?? 0) + 1;
    this.#failures.set(tunnel, times);
    const pause = pauseMs(times, random);
    if (!isElsewhere) tunnel.options.status?.({ state: "waiting", reason: describeLoss(error), pauseMs: pause });
    this.#retries.set(
      tunnel,
      clock.after(pause, () => void this.openOne(tunnel)),
    );
  }
}

/**
 * Whether the name is refused because another session of this agent has it: servers that know of agents with several
 * sessions give it to all of them, and those that have several edges do know.
 */
function isOwnName({ edges }: ClientSession, error: unknown): boolean {
  return edges <= 1 && error instanceof Refusal && error.reason === "agent_name_taken";
}
