/** The tunnels of an agent: opened in each of its sessions anew, and each ended for itself. */
import type { Clock, Timer } from "../lib/clock.ts";
import type { ByteStream } from "../lib/byte-stream.ts";
import type { Log } from "../lib/log.ts";
import type { BoundTunnel, ClientSession } from "../tunnel/client-hooks.ts";
import type { ProxiedHeader } from "../tunnel/proxy-header.ts";
import { pauseMs } from "./backoff.ts";
import { describeLoss, endOf, endOfTunnel } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { forward } from "./forward.ts";
import { placeOfUrl } from "./publication.ts";
import type { OpenIdLogin } from "./publication.ts";
import { RequestWatch } from "./request-watch.ts";
import { watchService } from "./service-watch.ts";
import type { ServiceWatch } from "./service-watch.ts";
import { bothWatch } from "./stream-watch.ts";
import type { TunnelOptions } from "./tunnel.ts";

interface TunnelsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying to open a tunnel that never was open. */
  readonly retryFirst: boolean;
}

/** What the sessions of one line to the server were given for each tunnel, one after the other. */
export type Kept = Map<TunnelOptions, BoundTunnel>;

export interface Tunnels {
  /** Resolves when the last one has ended, with its reason; never while there are none from the beginning. */
  readonly over: Promise<AgentEnd>;
  /** Has them in one more session, beside others. @param kept gets what this one is given */
  join(kept: Kept): SessionTunnels;
  /** Nothing of them is watched or tried any more. */
  stop(): void;
}

/** The tunnels in one session. */
export interface SessionTunnels {
  /** Opens all. Resolves when each is open or was refused once. */
  open(line: ClientSession): Promise<void>;
  /** The session is gone: its ids mean nothing any more. */
  lost(): void;
  /** A public connection to one of them. */
  proxied(tunnelId: string, header: ProxiedHeader, stream: ByteStream): void;
  /** The server took one away. */
  stopped(tunnelId: string, message: string, code: string): void;
  /** Takes all away from the server; resolves when it has answered. What comes until then is served. */
  unbind(line: ClientSession): Promise<void>;
}

/** A tunnel that has not ended. */
interface Living {
  readonly options: TunnelOptions;
  readonly service: ServiceWatch | undefined;
  /** It was open once. */
  wasOpen: boolean;
  /** The sessions that it is open in. */
  readonly openIn: Set<Joined>;
  /** Where it is published, once the server has made that up: the same in every session. */
  made: Pick<BoundTunnel, "hostname" | "address"> | undefined;
  /** It is being made up. */
  making: Promise<void> | undefined;
}

/** What a session has of them. */
interface Joined {
  /** It has ended: the session is not to have it any more. */
  drop(tunnel: Living): void;
  /** Nothing is tried any more. */
  pause(): void;
}

export function makeTunnels(given: readonly TunnelOptions[], options: TunnelsOptions): Tunnels {
  const over = Promise.withResolvers<AgentEnd>();
  const living = new Set(
    given.map((one): Living => {
      // What the agent serves itself does not go away.
      const service =
        one.service && !one.upstream.local ? watchService(one.upstream, options.clock, one.service) : undefined;
      return { options: one, service, wasOpen: false, openIn: new Set(), made: undefined, making: undefined };
    }),
  );
  const sessions = new Set<Joined>();
  const finish = (tunnel: Living, end: AgentEnd): void => {
    tunnel.service?.stop();
    living.delete(tunnel);
    for (const session of sessions) session.drop(tunnel);
    tunnel.options.status?.({ state: "ended", end });
    if (living.size === 0) over.resolve(end);
  };
  return {
    over: over.promise,
    join: (kept) => joinSession({ ...options, living, sessions, finish, kept }),
    stop() {
      for (const session of sessions) session.pause();
      for (const { service } of living) service?.stop();
    },
  };
}

interface JoinOptions extends TunnelsOptions {
  readonly living: ReadonlySet<Living>;
  readonly sessions: Set<Joined>;
  readonly finish: (tunnel: Living, end: AgentEnd) => void;
  readonly kept: Kept;
}

function joinSession({ living, sessions, finish, kept, ...options }: JoinOptions): SessionTunnels {
  const { clock, log } = options;
  const byId = new Map<string, Living>();
  const failures = new Map<Living, number>();
  const retries = new Map<Living, Timer>();
  let line: ClientSession | undefined;

  const opened = (tunnel: Living, id: string, bound: BoundTunnel | undefined): void => {
    if (!line) return;
    failures.delete(tunnel);
    tunnel.wasOpen = true;
    if (bound) kept.set(tunnel.options, bound);
    if (bound && isMadeUp(tunnel.options.publish)) tunnel.made = { hostname: bound.hostname, address: bound.address };
    byId.set(id, tunnel);
    tunnel.openIn.add(joined);
    tunnel.options.status?.({ state: "online", url: bound?.url });
  };
  const bindOnce = async (given: ClientSession, tunnel: Living): Promise<void> => {
    try {
      const place = kept.get(tunnel.options) ?? tunnel.made;
      await bind(given, tunnel.options, place, (id, bound) => opened(tunnel, id, bound));
    } catch (error) {
      if (line) refused(tunnel, error);
    }
  };
  const open = async (tunnel: Living): Promise<void> => {
    // One session has the server make up where it is; the others bring that.
    while (tunnel.making && !tunnel.made) await tunnel.making;
    if (!line || !living.has(tunnel)) return;
    if (!isMadeUp(tunnel.options.publish) || tunnel.made) return bindOnce(line, tunnel);
    tunnel.making = bindOnce(line, tunnel).finally(() => (tunnel.making = undefined));
    await tunnel.making;
  };
  const refused = (tunnel: Living, error: unknown): void => {
    // What others have is not over because this session may not have it as well.
    const isElsewhere = tunnel.openIn.size > 0;
    const end = isElsewhere ? undefined : endOf(error, tunnel.wasOpen || options.retryFirst);
    if (end) return finish(tunnel, end);
    const times = (failures.get(tunnel) ?? 0) + 1;
    failures.set(tunnel, times);
    const pause = pauseMs(times, options.random);
    if (!isElsewhere) tunnel.options.status?.({ state: "waiting", reason: describeLoss(error), pauseMs: pause });
    retries.set(
      tunnel,
      clock.after(pause, () => void open(tunnel)),
    );
  };
  const joined: Joined = {
    drop(tunnel) {
      retries.get(tunnel)?.cancel();
      for (const [id, one] of byId) {
        if (one !== tunnel) continue;
        byId.delete(id);
        // Where the server has taken it away itself, this tells it nothing new.
        line?.unbind(id).catch(() => {});
      }
    },
    pause() {
      line = undefined;
      for (const retry of retries.values()) retry.cancel();
    },
  };
  return {
    async open(given) {
      line = given;
      sessions.add(joined);
      await Promise.all([...living].map(open));
    },
    lost() {
      joined.pause();
      sessions.delete(joined);
      for (const { openIn } of living) openIn.delete(joined);
      byId.clear();
    },
    proxied(tunnelId, { proto, clientAddress }, stream) {
      const tunnel = byId.get(tunnelId);
      if (!tunnel) return stream.abort();
      const { upstream, request, opened } = tunnel.options;
      const http = proto === "http" || proto === "https";
      // Requests are seen in HTTP/1.1 only.
      const isSeen = http && !upstream.http2;
      const requests = isSeen && request ? new RequestWatch(() => clock.monotonic(), request) : undefined;
      const along = opened?.(clientAddress, isSeen);
      forward(stream, {
        upstream,
        clock,
        http,
        watch: requests && along ? bothWatch(requests, along) : (requests ?? along),
        unreachable(error) {
          const fields = { upstream: upstream.text, reason: describeLoss(error) };
          // Where the service is watched, it is told once that it has gone.
          if (tunnel.service) log.debug("connection to the service failed", fields);
          else log.warn("service unreachable", fields);
          tunnel.service?.failed(error);
        },
      });
    },
    stopped(tunnelId, message, code) {
      const tunnel = byId.get(tunnelId);
      byId.delete(tunnelId);
      if (tunnel) finish(tunnel, endOfTunnel(message, code));
    },
    async unbind(given) {
      joined.pause();
      await Promise.all([...byId.keys()].map((id) => given.unbind(id).catch(() => {})));
    },
  };
}

/** `opened` is called in the turn of the answer, so that a tunnel is known before its first connection. */
async function bind(
  line: ClientSession,
  options: TunnelOptions,
  before: BoundTunnel | Living["made"],
  opened: (id: string, bound: BoundTunnel | undefined) => void,
): Promise<void> {
  const { upstream, metadata, publish, proxyProtocol = 0 } = options;
  const forwardsProto: "" | "http2" = upstream.http2 ? "http2" : "";
  const shown = { forwardsTo: upstream.text, forwardsProto, metadata, proxyProtocol };
  if (publish.kind === "labels") {
    await line.startLabelled({ ...shown, labels: publish.labels }, (id) => opened(id, undefined));
    return;
  }
  const { proto = "https", trafficPolicy, pooling = false, bindings, description } = options;
  const resumed = before && (proto === "tcp" ? { address: before.address } : { hostname: before.hostname });
  await line.bind(
    {
      ...shown,
      proto,
      pooling,
      ...(bindings && { bindings }),
      ...(description !== undefined && { description }),
      ...(trafficPolicy !== undefined && { trafficPolicy }),
      ...(resumed ?? placeOf(publish, proto)),
      options: { ...options.options, ...(publish.login && { OIDC: oidcOption(publish.login) }) },
      ...(before && "token" in before ? { resume: { id: before.id, token: before.token } } : {}),
    },
    (bound) => opened(bound.id, bound),
  );
}

/** Whether the server makes up where it is. */
function isMadeUp(publish: TunnelOptions["publish"]): boolean {
  return publish.kind === "url" && publish.url === undefined && publish.subdomain === undefined;
}

function placeOf(
  { url, subdomain }: Extract<TunnelOptions["publish"], { kind: "url" }>,
  proto: NonNullable<TunnelOptions["proto"]>,
) {
  if (subdomain !== undefined) return { subdomain };
  return url === undefined ? {} : placeOfUrl(url, proto);
}

function oidcOption({ issuer, clientId, clientSecret }: OpenIdLogin): object {
  return { issuer_url: issuer, client_id: clientId, client_secret: clientSecret };
}
