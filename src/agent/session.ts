/** One connection of the agent to the server: authenticated, with its tunnel, forwarding what comes. */
import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import { connectSession } from "../tunnel/client.ts";
import type { BoundTunnel, ClientHandlers, ClientOptions, ClientSession } from "../tunnel/client-hooks.ts";
import type { AgentOptions } from "./agent.ts";
import { describeLoss, endOfTunnel } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import { forward } from "./forward.ts";
import { placeOfUrl } from "./publication.ts";
import type { OpenIdLogin, Publication } from "./publication.ts";
import type { ServiceWatch } from "./service-watch.ts";
import { RequestWatch } from "./request-watch.ts";

/** What is brought back to the server after a loss, so that it gives the same session, tunnel and URL. */
export interface Resumption {
  readonly clientId: string;
  readonly cookie: string;
  /** Absent for a labelled tunnel: the server derives its id from the session's. */
  readonly tunnel: BoundTunnel | undefined;
}

/** How a session ended. */
export type SessionEnd =
  /** Another connection is due. */
  | { readonly kind: "lost"; readonly reason: string; readonly atOnce: boolean }
  /** The server took the tunnel away or told the agent to stop. */
  | { readonly kind: "over"; readonly end: AgentEnd };

export interface Session {
  readonly url: string | undefined;
  readonly latencyMs: number;
  readonly resumption: Resumption;
  readonly ended: Promise<SessionEnd>;
  /** Takes the tunnel away and says goodbye. */
  close(): Promise<void>;
}

/** How long taking the tunnel away may take, milliseconds. */
const goodbyeMs = 1_000;

/** Takes over a connected socket. Rejects with `Refusal` when the server says why it refuses. */
export async function openSession(
  socket: TLSSocket,
  options: AgentOptions,
  resumption: Resumption | undefined,
  signal: AbortSignal,
  service: ServiceWatch | undefined,
): Promise<Session> {
  const { clock, publish } = options;
  const ended = Promise.withResolvers<SessionEnd>();
  const abandon = (): void => void socket.destroy();
  signal.addEventListener("abort", abandon, { once: true });
  const since = clock.monotonic();
  try {
    const line = await connectSession(
      socket,
      clientOptions(options, resumption),
      handlers(options, service, ended.resolve),
    );
    const latencyMs = clock.monotonic() - since;
    const tunnel = publish.kind === "url" ? await bind(line, options, publish, resumption?.tunnel) : undefined;
    const id =
      publish.kind === "labels"
        ? await line.startLabelled({ ...shown(options), labels: publish.labels })
        : (tunnel?.id ?? "");
    return {
      url: tunnel?.url,
      latencyMs,
      resumption: { clientId: line.clientId, cookie: line.cookie, tunnel },
      ended: ended.promise,
      async close() {
        const bound = Promise.withResolvers<void>();
        const timer = clock.after(goodbyeMs, bound.resolve);
        await Promise.race([line.unbind(id).catch(() => {}), bound.promise]);
        timer.cancel();
        line.close();
      },
    };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

function clientOptions(options: AgentOptions, resumption: Resumption | undefined): ClientOptions {
  return {
    clock: options.clock,
    token: options.token,
    clientId: resumption?.clientId ?? "",
    cookie: resumption?.cookie ?? "",
    metadata: options.metadata,
    version: options.version,
    os: platform(),
    arch: arch(),
    commands: ["stop", "restart"],
  };
}

function handlers(
  options: AgentOptions,
  service: ServiceWatch | undefined,
  end: (end: SessionEnd) => void,
): ClientHandlers {
  const { clock, log, upstream, request } = options;
  return {
    proxied(_tunnelId, { proto }, stream) {
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
          if (service) log.debug("connection to the service failed", fields);
          else log.warn("service unreachable", fields);
          service?.failed(error);
        },
      });
    },
    command(command) {
      if (command.name === "stop") {
        // After the answer has gone out.
        clock.after(0, () => end({ kind: "over", end: { reason: "stopped", message: "the server told it to stop" } }));
      } else if (command.name === "restart") {
        clock.after(0, () => end({ kind: "lost", reason: "the server asked for a new connection", atOnce: true }));
      } else return Promise.reject(new Error(`This agent does not ${command.name} itself.`));
      return Promise.resolve();
    },
    stopped: (_tunnelId, message, code) => end({ kind: "over", end: endOfTunnel(message, code) }),
    closed: (error) => end({ kind: "lost", reason: error ? describeLoss(error) : "closed", atOnce: false }),
  };
}

function bind(
  line: ClientSession,
  options: AgentOptions,
  { url, login }: Extract<Publication, { kind: "url" }>,
  before: BoundTunnel | undefined,
): Promise<BoundTunnel> {
  const { proto = "https", trafficPolicy, pooling = false } = options;
  const resumption = before && (proto === "tcp" ? { address: before.address } : { hostname: before.hostname });
  return line.bind({
    ...shown(options),
    proto,
    pooling,
    ...(trafficPolicy !== undefined && { trafficPolicy }),
    ...(resumption ?? (url === undefined ? {} : placeOfUrl(url, proto))),
    ...(login && { options: { OIDC: oidcOption(login) } }),
    ...(before ? { resume: { id: before.id, token: before.token } } : {}),
  });
}

function shown({ upstream, metadata, proxyProtocol = 0 }: AgentOptions) {
  const forwardsProto: "" | "http2" = upstream.http2 ? "http2" : "";
  return { forwardsTo: upstream.text, forwardsProto, metadata, proxyProtocol };
}

function oidcOption({ issuer, clientId, clientSecret }: OpenIdLogin): object {
  return { issuer_url: issuer, client_id: clientId, client_secret: clientSecret };
}
