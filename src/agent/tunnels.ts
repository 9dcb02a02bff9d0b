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
import type { TunnelOptions } from "./tunnel.ts";

interface TunnelsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying to open a tunnel that never was open. */
  readonly retryFirst: boolean;
}

export interface Tunnels {
  /** Resolves when the last one has ended, with its reason; never while there are none from the beginning. */
  readonly over: Promise<AgentEnd>;
  /** Opens all in a new session. */
  open(line: ClientSession): void;
  /** The session is gone: its ids mean nothing any more. */
  lost(): void;
  /** A public connection to one of them. */
  proxied(tunnelId: string, header: ProxiedHeader, stream: ByteStream): void;
  /** The server took one away. */
  stopped(tunnelId: string, message: string, code: string): void;
  /** Takes all away from the server; resolves when it has answered. */
  unbind(line: ClientSession): Promise<void>;
  /** Nothing of them is watched or tried any more. */
  stop(): void;
}

/** A tunnel that has not ended. */
interface Living {
  readonly options: TunnelOptions;
  readonly service: ServiceWatch | undefined;
  /** Its id in the present session. */
  id: string | undefined;
  /** What an earlier session gave it, to have it again; a labelled one has its id derived by the server. */
  bound: BoundTunnel | undefined;
  /** It was open once. */
  wasOpen: boolean;
  failures: number;
  retry: Timer | undefined;
}

export function makeTunnels(given: readonly TunnelOptions[], options: TunnelsOptions): Tunnels {
  const { clock, log } = options;
  const over = Promise.withResolvers<AgentEnd>();
  const byId = new Map<string, Living>();
  const living = new Set(
    given.map((one): Living => {
      const service = one.service && watchService(one.upstream, clock, one.service);
      return { options: one, service, id: undefined, bound: undefined, wasOpen: false, failures: 0, retry: undefined };
    }),
  );
  let session: ClientSession | undefined;

  const opened = (tunnel: Living, line: ClientSession, id: string, bound: BoundTunnel | undefined): void => {
    if (line !== session) return;
    Object.assign(tunnel, { id, bound, wasOpen: true, failures: 0 });
    byId.set(id, tunnel);
    tunnel.options.status?.({ state: "online", url: bound?.url });
  };
  const open = (tunnel: Living, line: ClientSession): void => {
    bind(line, tunnel, (id, bound) => opened(tunnel, line, id, bound)).catch((error: unknown) => {
      if (line === session) refused(tunnel, line, error);
    });
  };
  const refused = (tunnel: Living, line: ClientSession, error: unknown): void => {
    const end = endOf(error, tunnel.wasOpen || options.retryFirst);
    if (end) return finish(tunnel, end);
    tunnel.failures += 1;
    const pause = pauseMs(tunnel.failures, options.random);
    tunnel.options.status?.({ state: "waiting", reason: describeLoss(error), pauseMs: pause });
    tunnel.retry = clock.after(pause, () => open(tunnel, line));
  };
  const finish = (tunnel: Living, end: AgentEnd): void => {
    tunnel.service?.stop();
    living.delete(tunnel);
    if (tunnel.id !== undefined) byId.delete(tunnel.id);
    tunnel.options.status?.({ state: "ended", end });
    if (living.size === 0) over.resolve(end);
  };

  return {
    over: over.promise,
    open(line) {
      session = line;
      for (const tunnel of living) open(tunnel, line);
    },
    lost() {
      session = undefined;
      byId.clear();
      for (const tunnel of living) {
        tunnel.id = undefined;
        tunnel.retry?.cancel();
      }
    },
    proxied(tunnelId, { proto }, stream) {
      const tunnel = byId.get(tunnelId);
      if (!tunnel) return stream.abort();
      const { upstream, request } = tunnel.options;
      const http = proto === "http" || proto === "https";
      forward(stream, {
        upstream,
        clock,
        http,
        // Requests are seen in HTTP/1.1 only.
        watch: http && request && !upstream.http2 ? new RequestWatch(() => clock.monotonic(), request) : undefined,
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
      if (tunnel) finish(tunnel, endOfTunnel(message, code));
    },
    async unbind(line) {
      await Promise.all([...byId.keys()].map((id) => line.unbind(id).catch(() => {})));
    },
    stop() {
      session = undefined;
      for (const { service, retry } of living) {
        service?.stop();
        retry?.cancel();
      }
    },
  };
}

/** `opened` is called in the turn of the answer, so that a tunnel is known before its first connection. */
async function bind(
  line: ClientSession,
  { options, bound: before }: Living,
  opened: (id: string, bound: BoundTunnel | undefined) => void,
): Promise<void> {
  const { upstream, metadata, publish, proxyProtocol = 0 } = options;
  const forwardsProto: "" | "http2" = upstream.http2 ? "http2" : "";
  const shown = { forwardsTo: upstream.text, forwardsProto, metadata, proxyProtocol };
  if (publish.kind === "labels") {
    await line.startLabelled({ ...shown, labels: publish.labels }, (id) => opened(id, undefined));
    return;
  }
  const { proto = "https", trafficPolicy, pooling = false, bindings } = options;
  const resumed = before && (proto === "tcp" ? { address: before.address } : { hostname: before.hostname });
  await line.bind(
    {
      ...shown,
      proto,
      pooling,
      ...(bindings && { bindings }),
      ...(trafficPolicy !== undefined && { trafficPolicy }),
      ...(resumed ?? placeOf(publish, proto)),
      options: { ...options.options, ...(publish.login && { OIDC: oidcOption(publish.login) }) },
      ...(before ? { resume: { id: before.id, token: before.token } } : {}),
    },
    (bound) => opened(bound.id, bound),
  );
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
