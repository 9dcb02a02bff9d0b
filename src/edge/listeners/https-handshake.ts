/** The handshake that a ClientHello leads to: that of the site which its server name means. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { ConnectionFacts, HelloFacts, ServedCertificate } from "../../traffic/exchange.ts";
import type { ConnectionSite, Site } from "../../routing/sites/compiled.ts";
import { alert } from "../tls/alert.ts";
import type { ClientHello } from "../tls/client-hello.ts";
import type { Certificates } from "../tls/certificates.ts";
import { noDemands, sameDemands } from "../tls/demands.ts";
import { makeTlsContexts } from "../tls/contexts.ts";
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
  /** The site for a lower-case server name, now: an HTTPS or TLS edge, or an endpoint. */
  readonly siteFor: (host: string) => Site | ConnectionSite | undefined;
  /** One of the endpoints that a site stands for. */
  readonly choose: Pools["choose"];
  /** Those to TLS edges and endpoints, which are passed on. */
  readonly connections: OpaqueConnections;
  readonly certificates: Certificates;
  /** Offered to clients, the preferred one first. */
  readonly protocols: readonly HttpProtocol[];
  /**
   * A connection whose handshake has ended. Without a site for its server name, or without a server name, it is
   * served too: requests on it are told so, in a page instead of a TLS error.
   */
  serve(socket: TLSSocket, facts: ConnectionFacts, protocol: HttpProtocol): void;
}

export interface OpaqueConnections {
  /** Asked when the ClientHello was read and nothing was answered. */
  admits(site: ConnectionSite, source: string): boolean;
  /**
   * A connection that was admitted: decrypted, or where the site passes TLS through as it came, paused and with its
   * ClientHello to be read first.
   */
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
}

export interface HttpsHandshakes {
  /**
   * Answers a ClientHello, which is still to be read from the socket. Throws, or rejects where a certificate is made
   * first, when there can be none.
   */
  begin(arrival: Arrival, hello: ClientHello): Promise<void> | undefined;
  stop(): void;
}

/** What a handshake was begun with, which must still hold when it has ended. */
interface Begun {
  readonly arrival: Arrival;
  readonly hello: HelloFacts;
  readonly opaque: ConnectionSite | undefined;
  readonly site: Site | ConnectionSite | undefined;
}

/** @param ended told how each handshake ended */
export function makeHttpsHandshakes(
  options: HttpsHandshakesOptions,
  ended: (result: HandshakeResult) => void,
): HttpsHandshakes {
  const { siteFor, connections, certificates, limits, clock, deadlines } = options;
  const contexts = makeTlsContexts(options.protocols, clock, limits.contexts);
  // nobody here knows what is spoken behind a TLS edge
  const opaqueContexts = makeTlsContexts([], clock, limits.contexts);
  const accounts = makeAccountConnections(limits.connectionsPerAccount);

  const refuse = (socket: Socket, result: HandshakeResult): void => {
    ended(result);
    socket.destroy();
  };
  /** The site may have been changed during the handshake, which may have asked for less than it does now. */
  const isOutdated = ({ hello: { serverName }, opaque, site }: Begun): boolean => {
    const current = siteFor(serverName);
    if (current === site) return false;
    // What stands for several endpoints of one URL, as long as the chosen one, or one like it, is among them.
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
    const facts = arrival.facts(hello, ofTls);
    if (opaque) connections.serve(tls, facts, opaque);
    else options.serve(tls, facts, tls.alpnProtocol === "h2" ? "h2" : "http/1.1");
  };

  /** Throws when the certificate cannot be used. */
  const shake = (begun: Begun, certificate: ServerCertificate | undefined): void => {
    const { arrival, opaque, site } = begun;
    const { socket } = arrival;
    if (socket.destroyed) return;
    if (!certificate) {
      ended("unknown_name");
      endWith(socket, alert("unrecognizedName"));
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
    stop() {
      contexts.stop();
      opaqueContexts.stop();
    },
  };
}
