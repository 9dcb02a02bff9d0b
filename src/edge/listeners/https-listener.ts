import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Counter } from "../../lib/metrics.ts";
import type { ConnectionFacts, ServedCertificate, TlsFacts } from "../../traffic/exchange.ts";
import type { ConnectionSite, Site } from "../../routing/sites/compiled.ts";
import { makeAccountConnections } from "./account-connections.ts";
import type { AcmeChallenges } from "../tls/acme-challenges.ts";
import type { Certificates } from "../tls/certificates.ts";
import { peekClientHello } from "../tls/client-hello.ts";
import type { Peek } from "../tls/client-hello.ts";
import { noDemands, sameDemands } from "../tls/demands.ts";
import type { Handshaker } from "../tls/handshaker.ts";
import { connectionFacts, startListener } from "./listener.ts";
import type { Client, ListenAddress, Listener, PublicListenerContext } from "./listener.ts";
import { peek } from "./peek.ts";
import type { Look } from "./peek.ts";
import { makeTlsServers } from "../tls/servers.ts";

type HttpProtocol = "h2" | "http/1.1";

export interface HttpsListenerOptions extends PublicListenerContext {
  readonly at: ListenAddress;
  /** The site for a lower-case server name, now. */
  readonly siteFor: (host: string) => Site | undefined;
  /** TLS edges and endpoints, which have names of their own; whole connections to them are passed on. */
  readonly connections?: OpaqueConnections | undefined;
  readonly certificates: Certificates;
  readonly challenges: Pick<AcmeChallenges, "handshaker">;
  /** Offered to clients, the preferred one first. */
  readonly protocols: readonly HttpProtocol[];
  /**
   * A connection whose handshake has ended. Without a site for its server name, or without a server name, it is
   * served too: requests on it are told so, in a page instead of a TLS error.
   */
  serve(socket: TLSSocket, facts: ConnectionFacts, protocol: HttpProtocol): void;
}

export interface OpaqueConnections {
  /** The site for a lower-case server name, now. */
  siteFor(host: string): ConnectionSite | undefined;
  /** Asked when the ClientHello was read and nothing was answered. */
  admits(site: ConnectionSite, source: string): boolean;
  /**
   * A connection that was admitted: decrypted, or where the site passes TLS through as it came, paused and with its
   * ClientHello to be read first.
   */
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
}

type HandshakeResult =
  | "completed"
  | "failed"
  | "timeout"
  | "unreadable"
  | "unknown_name"
  | "outdated"
  | "denied"
  | "account_limit"
  | "passed_through";

/** Alert descriptions (RFC 8446 §6). */
const alerts = { internalError: 80, unrecognizedName: 112 } as const;
const httpMethod = /^[A-Z]{3,10} /;
const plainHttpAnswer =
  "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 48\r\n\r\n" +
  "This port speaks HTTPS: use an https:// address\n";

/**
 * The public HTTPS listener. The ClientHello is read first and says which site is meant; the handshake is then
 * that of the site: its certificate, its minimum version, its client certificates. Afterwards HTTP takes over.
 *
 * A name without a site gets the handshake if it is under the server's domain, so that a browser can show why;
 * other names get the alert `unrecognized_name`.
 */
export async function startHttpsListener(options: HttpsListenerOptions): Promise<Listener> {
  const { siteFor, certificates, limits, clock, log, metrics } = options;
  const { connections } = options;
  const servers = makeTlsServers(options.protocols, clock);
  // nobody here knows what is spoken behind a TLS edge
  const opaqueServers = makeTlsServers([], clock);
  const accounts = makeAccountConnections(limits.connectionsPerAccount);
  const handshakes = new Map<HandshakeResult, Counter>();
  const ended = (result: HandshakeResult): void => {
    let counter = handshakes.get(result);
    if (!counter) {
      counter = metrics.counter("postern_tls_handshakes_total", "TLS handshakes, by how they ended.", { result });
      handshakes.set(result, counter);
    }
    counter.add();
  };

  const handshake = async (socket: Socket, client: Client, serverName: string, startedAt: number): Promise<void> => {
    const opaque = connections?.siteFor(serverName);
    if (opaque && !connections?.admits(opaque, client.address)) {
      ended("denied");
      socket.destroy();
      return;
    }
    if (opaque?.handshake.passthrough) {
      ended("passed_through");
      connections?.serve(socket, connectionFacts(socket, client, startedAt), opaque);
      return;
    }
    const site = opaque ?? siteFor(serverName);
    if (site && !opaque) {
      const { accountId } = site;
      if (accounts.isFull(accountId)) {
        ended("account_limit");
        socket.destroy();
        return;
      }
      accounts.enter(accountId);
      socket.once("close", () => accounts.leave(accountId));
    }
    const demands = site?.handshake ?? noDemands;
    const certificate = opaque?.certificate ?? (await certificates.choose(serverName, site));
    if (socket.destroyed) return;
    if (!certificate) {
      ended("unknown_name");
      socket.end(alert(alerts.unrecognizedName), () => socket.destroy());
      return;
    }
    let failure: HandshakeResult = "failed";
    const late = clock.after(limits.handshakeTimeoutMs, () => {
      failure = "timeout";
      socket.destroy();
    });
    const chosen = (opaque ? opaqueServers : servers).server(site?.id ?? "", demands, certificate);
    chosen.accept(socket, (result) => {
      late.cancel();
      if (result instanceof Error) {
        ended(failure);
        return;
      }
      const current = connections?.siteFor(serverName) ?? siteFor(serverName);
      if (!sameDemands(current?.handshake ?? noDemands, demands) || (opaque && current?.id !== opaque.id)) {
        // the site was changed during the handshake, which may have asked for less than it does now
        ended("outdated");
        result.destroy();
        return;
      }
      ended("completed");
      const tls = tlsFacts(result, serverName, certificate);
      const facts = { ...connectionFacts(socket, client, startedAt), tls };
      if (opaque) connections?.serve(result, facts, opaque);
      else options.serve(result, facts, result.alpnProtocol === "h2" ? "h2" : "http/1.1");
    });
  };

  const accept = (socket: Socket, client: Client): void => {
    const startedAt = clock.now();
    const late = clock.after(limits.helloTimeoutMs, () => {
      ended("timeout");
      socket.destroy();
    });
    socket.once("close", () => late.cancel());
    peek(socket, (bytes): Look => {
      const seen = peekClientHello(bytes);
      if (seen.state === "more") return seen;
      late.cancel();
      const next = (): void => {
        if (seen.state === "invalid") {
          refuse(socket, seen, bytes);
          return;
        }
        const challenge = options.challenges.handshaker(seen.hello.serverName, seen.hello.alpn);
        if (challenge) {
          answerChallenge(socket, challenge);
          return;
        }
        handshake(socket, client, seen.hello.serverName, startedAt).catch((error: unknown) => {
          log.error("TLS handshake not begun", { server_name: seen.hello.serverName, error });
          socket.end(alert(alerts.internalError), () => socket.destroy());
        });
      };
      return { taken: 0, next };
    });
  };
  /** RFC 8737 §3: when the handshake has shown the certificate, everything is said. */
  const answerChallenge = (socket: Socket, challenge: Handshaker): void => {
    const late = clock.after(limits.handshakeTimeoutMs, () => socket.destroy());
    socket.once("close", () => late.cancel());
    challenge.accept(socket, (result) => {
      ended(result instanceof Error ? "failed" : "completed");
      if (!(result instanceof Error)) result.end();
    });
  };
  const refuse = (socket: Socket, seen: Peek & { readonly state: "invalid" }, bytes: Buffer): void => {
    ended("unreadable");
    log.debug("ClientHello refused", { source: socket.remoteAddress, reason: seen.reason });
    const isHttp = httpMethod.test(bytes.toString("latin1", 0, 11));
    socket.end(isHttp ? plainHttpAnswer : alert(seen.alert), () => socket.destroy());
  };

  const listener = await startListener({ ...options, name: "https", accept });
  return {
    ...listener,
    destroy() {
      servers.stop();
      opaqueServers.stop();
      listener.destroy();
    },
  };
}

function tlsFacts(socket: TLSSocket, serverName: string, serverCertificate: ServedCertificate): TlsFacts {
  return {
    serverName,
    version: socket.getProtocol() ?? "",
    cipher: socket.getCipher().standardName,
    clientCertificate: socket.authorized ? socket.getPeerX509Certificate()?.raw : undefined,
    serverCertificate,
  };
}

/** A fatal alert before the handshake has begun. */
function alert(description: number): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, description]);
}
