/** Chooses the handshake for a ClientHello: the one of the site that its server name selects. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { ConnectionFacts, HelloFacts, ServedCertificate } from "../../traffic/connection-facts.ts";
import type { ConnectionSite, Site } from "../../routing/sites/compiled-site.ts";
import { encodeAlert } from "../tls/alert.ts";
import type { ClientHello } from "../tls/client-hello.ts";
import type { Certificates } from "../tls/certificates.ts";
import { noDemands, sameDemands } from "../tls/demands.ts";
import { makeTlsContexts } from "../tls/contexts.ts";
import type { TicketSecret } from "../tls/ticket-secret.ts";
import type { ServerCertificate } from "../tls/server-certificate.ts";
import type { Pools } from "../sites/pools.ts";
import { tlsFacts } from "../tls/tls-end.ts";
import { makeAccountConnections } from "./account-connections.ts";
import { endWith } from "../../lib/io/socket-stream.ts";
import type { Arrival } from "./arrival.ts";
import type { HandshakeResult } from "./handshake-counter.ts";
import type { PublicListenerContext } from "./listener.ts";

type HttpProtocol = "h2" | "http/1.1";

export interface HttpsHandshakesOptions extends Pick<PublicListenerContext, "limits" | "clock"> {
  readonly deadlines: Deadlines;
  /** Returns the current site for a lower-case server name: an HTTPS or TLS edge, or an endpoint. */
  readonly siteFor: (host: string) => Site | ConnectionSite | undefined;
  /** Chooses one of the endpoints of a pool. */
  readonly choose: Pools["choose"];
  /** Handles connections to TLS edges and endpoints, which are spliced. */
  readonly connections: OpaqueConnections;
  readonly certificates: Certificates;
  readonly tickets: TicketSecret;
  /** Protocols offered to clients, the preferred one first. */
  readonly protocols: readonly HttpProtocol[];
  /**
   * Serves a connection after its handshake. Also called without a server name or without a site for it. Requests on
   * such a connection get an error page instead of a TLS error.
   */
  serve(socket: TLSSocket, facts: ConnectionFacts, protocol: HttpProtocol): void;
}

export interface OpaqueConnections {
  /** Called after the ClientHello was read, before any answer. */
  admits(site: ConnectionSite, source: string): boolean;
  /**
   * Serves an admitted connection. It is decrypted, or, if the site passes TLS through, paused with the ClientHello
   * still unread.
   */
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
}

export interface HttpsHandshakes {
  /**
   * Answers a ClientHello, which is still unread in the socket. Throws if no certificate is available, or rejects if
   * one must be issued first.
   */
  begin(arrival: Arrival, hello: ClientHello): Promise<void> | undefined;
}

/** State at the start of a handshake, which must still be valid at its end. */
interface Begun {
  readonly arrival: Arrival;
  readonly hello: HelloFacts;
  readonly opaque: ConnectionSite | undefined;
  readonly site: Site | ConnectionSite | undefined;
}

/** @param ended called with the result of each handshake */
export function makeHttpsHandshakes(
  options: HttpsHandshakesOptions,
  ended: (result: HandshakeResult) => void,
): HttpsHandshakes {
  const { siteFor, connections, certificates, tickets, limits, deadlines, clock } = options;
  const contexts = makeTlsContexts("https", options.protocols, tickets, limits.contexts);
  // Offers no protocol, because the edge does not know the protocol behind a TLS edge.
  const opaqueContexts = makeTlsContexts("tls", [], tickets, limits.contexts);
  const accounts = makeAccountConnections(limits.connectionsPerAccount);

  const refuse = (socket: Socket, result: HandshakeResult): void => {
    ended(result);
    socket.destroy();
  };
  /** Whether the site was changed during the handshake, which may have demanded less than the site does now. */
  const isOutdated = ({ hello: { serverName }, opaque, site }: Begun): boolean => {
    const current = siteFor(serverName);
    if (current === site) return false;
    // A pool is valid as long as the chosen endpoint, or an equal one, is among its members.
    const all: readonly (Site | ConnectionSite | undefined)[] = current?.members ?? [current];
    if (opaque && !all.some((one) => one?.id === opaque.id)) return true;
    const demands = site?.handshake ?? noDemands;
    return !all.some((one) => (!opaque || one?.id === opaque.id) && sameDemands(one?.handshake ?? noDemands, demands));
  };
  const serve = (tls: TLSSocket, begun: Begun, certificate: ServedCertificate): void => {
    const { arrival, hello, opaque, site } = begun;
    if (isOutdated(begun)) {
      refuse(tls, "outdated");
      return;
    }
    ended("completed");
    const ofTls = tlsFacts(tls, hello, certificate, site?.handshake ?? noDemands);
    const facts = arrival.facts(hello, { ...ofTls, completedAt: clock.now() });
    if (opaque) connections.serve(tls, facts, opaque);
    else options.serve(tls, facts, tls.alpnProtocol === "h2" ? "h2" : "http/1.1");
  };

  /** Throws if the certificate is unusable. */
  const shake = (begun: Begun, certificate: ServerCertificate | undefined): void => {
    const { arrival, opaque, site } = begun;
    const { socket } = arrival;
    if (socket.destroyed) return;
    if (!certificate) {
      ended("unknown_name");
      endWith(socket, encodeAlert("unrecognizedName"));
      return;
    }
    let failure: HandshakeResult = "failed";
    const late = (): void => {
      failure = "timeout";
      socket.destroy();
    };
    arrival.waitUntil(deadlines.after(limits.handshakeTimeoutMs, late));
    const { id = "", handshake = noDemands } = site ?? {};
    const handshaker = (opaque ? opaqueContexts : contexts).handshaker(id, handshake, certificate);
    handshaker.accept(socket, (result) => {
      arrival.endWait();
      if (result instanceof Error) ended(failure);
      else serve(result, begun, certificate);
    });
  };

  return {
    begin(arrival, hello) {
      const { socket, client } = arrival;
      const { serverName } = hello;
      const site = options.choose(siteFor(serverName));
      const opaque = site && "connection" in site ? site : undefined;
      if (opaque && !connections.admits(opaque, client.address)) {
        refuse(socket, "denied");
        return undefined;
      }
      if (opaque?.handshake.passthrough) {
        ended("passed_through");
        connections.serve(socket, arrival.facts(hello), opaque);
        return undefined;
      }
      if (site && !opaque && !arrival.enter(accounts, site.accountId)) {
        refuse(socket, "account_limit");
        return undefined;
      }
      const begun: Begun = { arrival, hello, opaque, site };
      const certificate = opaque?.certificate ?? certificates.choose(serverName, site);
      if (certificate instanceof Promise) return certificate.then((made) => shake(begun, made));
      shake(begun, certificate);
      return undefined;
    },
  };
}
