/** The tunnels of an agent in one of its sessions: opens them, retries, and routes incoming connections. */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import { UnusedStream } from "../lib/io/lost-stream.ts";
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
import { combineWatches } from "./stream-watch.ts";
import type { StreamWatch } from "./stream-watch.ts";
import type { TunnelOptions } from "./tunnel-options.ts";

/** A tunnel that has not ended. */
export interface LivingTunnel {
  readonly options: TunnelOptions;
  readonly service: ServiceWatch | undefined;
  /**
   * Set for a tunnel that was added at run time; settles with the outcome of opening it. The first refusal ends such a
   * tunnel.
   */
  readonly added: PromiseWithResolvers<void> | undefined;
  /** Whether the tunnel has ever been open. */
  wasOpen: boolean;
  /** The sessions in which the tunnel is open. */
  readonly openIn: Set<SessionTunnels>;
  /** The address that the server generated: the same in every session. */
  made: MadePlace | undefined;
  /** Pending while the server generates the address. */
  making: Promise<void> | undefined;
}

/** What the server assigned to each tunnel in the successive sessions of one line. */
export type BoundTunnels = WeakMap<TunnelOptions, BoundTunnel>;

/** Shared by all sessions of an agent. */
export interface AllTunnels {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Whether to retry a tunnel that has never been open. */
  readonly retryFirst: boolean;
  readonly living: ReadonlySet<LivingTunnel>;
  readonly sessions: Set<SessionTunnels>;
  /** Called when a tunnel ends for a permanent reason. */
  readonly finish: (tunnel: LivingTunnel, end: AgentEnd) => void;
}

/** The HTTP/2 watch, loaded with the first tunnel that needs it. */
let http2Watch: typeof Http2RequestWatch | undefined;

export class SessionTunnels {
  readonly #all: AllTunnels;
  readonly #kept: BoundTunnels;
  readonly #alone: () => void;
  readonly #byId = new Map<string, LivingTunnel>();
  readonly #failures = new Map<LivingTunnel, number>();
  readonly #retries = new Map<LivingTunnel, Timer>();
  /** Undefined before the session starts and after it ends. */
  #line: ClientSession | undefined;
  /** No more tunnels are opened. */
  #isPaused = false;
  /** The session has started and is not about to end, so tunnels that are added are opened in it. */
  takesMore = false;

  /**
   * @param kept receives what the server assigns
   * @param alone called when the server allows each tunnel in one session only
   */
  constructor(all: AllTunnels, kept: BoundTunnels, alone: () => void) {
    this.#all = all;
    this.#kept = kept;
    this.#alone = alone;
  }

  /** Opens all tunnels. Resolves when each is open or was refused once. */
  async open(line: ClientSession): Promise<void> {
    this.#line = line;
    this.takesMore = true;
    this.#all.sessions.add(this);
    await Promise.all([...this.#all.living].map((tunnel) => this.openOne(tunnel)));
  }

  /** Opens one tunnel. Resolves when it is open or was refused once. */
  async openOne(tunnel: LivingTunnel): Promise<void> {
    // One session lets the server generate the address. The others then request it.
    while (tunnel.making && !tunnel.made) await tunnel.making;
    const line = this.#line;
    if (!line || this.#isPaused || !this.#all.living.has(tunnel)) return;
    if (!isMadeUp(tunnel.options.publish) || tunnel.made) return this.#bind(line, tunnel);
    tunnel.making = this.#bind(line, tunnel).finally(() => (tunnel.making = undefined));
    await tunnel.making;
  }

  /** Stops opening and retrying. Incoming connections are still served. */
  pause(): void {
    this.takesMore = false;
    this.#isPaused = true;
    for (const retry of this.#retries.values()) retry.cancel();
    this.#retries.clear();
  }

  /** The session has ended, so its tunnel ids are no longer valid. */
  lost(): void {
    this.pause();
    this.#line = undefined;
    this.#byId.clear();
    const { living, sessions, finish } = this.#all;
    sessions.delete(this);
    for (const tunnel of living) {
      tunnel.openIn.delete(this);
      // The caller of `add` is waiting, and can call it again.
      if (tunnel.added && !tunnel.wasOpen && sessions.size === 0) {
        finish(tunnel, { reason: "unreachable", message: "the session with the server was lost" });
      }
    }
  }

  /** Returns the name of the tunnel with this id, or undefined if the session has none. */
  nameOf(tunnelId: string): string | undefined {
    return this.#byId.get(tunnelId)?.options.name;
  }

  /** Handles a public connection to one of the tunnels. */
  proxied(tunnelId: string, { proto, clientAddress }: ProxiedHeader, stream: ByteStream): void {
    const tunnel = this.#byId.get(tunnelId);
    if (!tunnel) return stream.lose?.(new UnusedStream("tunnel_gone", "the tunnel has ended"));
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
      watch: requests && along ? combineWatches(requests, along) : (requests ?? along),
      unreachable(error) {
        const fields = { upstream: upstream.text, reason: describeServiceFault(upstream, error) };
        // The watch reports a service that is away once. A misconfigured service is reported each time.
        if (error instanceof WantsTls || isCertificateFault(error))
          log.warn("connection to the service failed", fields);
        else if (tunnel.service) log.debug("connection to the service failed", fields);
        else log.warn("service unreachable", fields);
        // The watch would reach a service that expects TLS, and report it as back.
        if (!(error instanceof WantsTls)) tunnel.service?.failed(error);
      },
    });
  }

  /** The server removed a tunnel. */
  stopped(tunnelId: string, message: string, code: string): void {
    const tunnel = this.#byId.get(tunnelId);
    this.#byId.delete(tunnelId);
    if (tunnel) this.#all.finish(tunnel, endOfTunnel(message, code));
  }

  /** Removes a tunnel that has ended from the session. */
  drop(tunnel: LivingTunnel): void {
    for (const id of this.#forget(tunnel)) {
      this.#byId.delete(id);
      // Redundant but harmless if the server removed the tunnel.
      this.#line?.unbind(id).catch(() => {});
    }
  }

  /** Removes a tunnel at the server. Resolves when the server has answered. Until then, connections are served. */
  async take(tunnel: LivingTunnel): Promise<void> {
    const line = this.#line;
    await Promise.all(
      this.#forget(tunnel).map(async (id) => {
        await line?.unbind(id).catch(() => {});
        this.#byId.delete(id);
      }),
    );
  }

  /** Removes all tunnels at the server. Resolves when the server has answered. Until then, connections are served. */
  async unbind(session: ClientSession): Promise<void> {
    this.pause();
    await Promise.all([...this.#byId.keys()].map((id) => session.unbind(id).catch(() => {})));
  }

  #requestWatch({ upstream, request, proxyProtocol = 0 }: TunnelOptions): StreamWatch | undefined {
    if (!request) return undefined;
    const monotonic = (): number => this.#all.clock.monotonic();
    const Watch = upstream.http2 ? http2Watch : RequestWatch;
    return Watch && new Watch(monotonic, proxyProtocol !== 0, request);
  }

  /** Stops retrying the tunnel. Returns its ids. */
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
      // The tunnel was removed while the request was pending.
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
    // A tunnel that is open in other sessions does not end because this session may not have it too.
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
 * Whether the server refused the name because another session of this agent has it. Servers that support several
 * sessions per agent give the name to all of them, and servers with several edges always do.
 */
function isOwnName({ edges }: ClientSession, error: unknown): boolean {
  return edges <= 1 && error instanceof Refusal && error.reason === "agent_name_taken";
}
