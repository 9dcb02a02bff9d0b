/** Terminates TLS on a connection whose ClientHello was read and not yet answered. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import type { HelloFacts, ServedCertificate, TlsFacts } from "../../traffic/connection-facts.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { Certificates } from "./certificates.ts";
import { makeTlsContexts } from "./contexts.ts";
import type { TicketSecret } from "./ticket-secret.ts";
import type { ServerCertificate } from "./server-certificate.ts";

export interface TlsEnd {
  /**
   * Terminates TLS. Resolves with an error and destroys the socket if there is no certificate, the handshake fails or
   * times out, or a required client certificate is missing.
   *
   * @param configured certificate used instead of the account's certificate for the name
   */
  accept(
    socket: Socket,
    site: Pick<Site, "id" | "accountId" | "hosts">,
    hello: HelloFacts,
    handshake: Handshake,
    configured: OwnCertificate | undefined,
  ): Promise<EndedTls | Error>;
}

export interface EndedTls {
  readonly socket: TLSSocket;
  readonly facts: TlsFacts;
}

export interface TlsEndOptions {
  readonly certificates: Pick<Certificates, "choose">;
  readonly tickets: TicketSecret;
  readonly clock: Clock;
  /** Maximum number of cached TLS contexts, and maximum time from the ClientHello to the end of the handshake. */
  readonly limits: { readonly contexts: number; readonly handshakeTimeoutMs: number };
}

export function makeTlsEnd({ certificates, tickets, clock, limits }: TlsEndOptions): TlsEnd {
  // Offers no protocol, because the edge does not know the protocol inside TLS.
  const contexts = makeTlsContexts("within", [], tickets, limits.contexts);
  const fail = (socket: Socket, why: string): Error => {
    socket.destroy();
    return new Error(why);
  };
  /** Also undefined for a name that no certificate can have, because the client chose the text. */
  const chosen = async (
    host: string,
    site: Pick<Site, "accountId" | "hosts">,
  ): Promise<ServerCertificate | undefined> => {
    try {
      return await certificates.choose(host, site);
    } catch {
      return undefined;
    }
  };
  return {
    async accept(socket, site, hello, handshake, configured) {
      const certificate = configured ?? (await chosen(hello.serverName, site));
      if (!certificate) return fail(socket, "the server name has no certificate now");
      if (socket.destroyed) return new Error("the client disconnected");
      let failure = "the TLS handshake failed";
      const timer = clock.after(limits.handshakeTimeoutMs, () => {
        failure = "the TLS handshake took too long";
        socket.destroy();
      });
      const ended = await new Promise<TLSSocket | Error>((resolve) => {
        try {
          contexts.handshaker(site.id, handshake, certificate).accept(socket, resolve);
        } catch (error) {
          resolve(error instanceof Error ? error : new Error(String(error)));
          failure = "the TLS handshake could not begin";
          socket.destroy();
        }
      });
      timer.cancel();
      if (ended instanceof Error) return new Error(failure, { cause: ended });
      const facts = tlsFacts(ended, hello, certificate, handshake);
      if (handshake.clientCertificates === "any" && facts.clientCertificate === undefined) {
        return fail(ended, "the client sent no certificate");
      }
      return { socket: ended, facts };
    },
  };
}

/** Returns the facts about a completed handshake. */
export function tlsFacts(
  socket: TLSSocket,
  hello: HelloFacts,
  serverCertificate: ServedCertificate,
  handshake: Handshake,
): TlsFacts {
  const { clientCertificates = "verify" } = handshake;
  const isShown = clientCertificates !== "verify" || socket.authorized;
  return {
    serverName: hello.serverName,
    demands: handshake,
    version: socket.getProtocol() ?? "",
    cipher: socket.getCipher().standardName,
    clientCertificate: isShown ? socket.getPeerX509Certificate()?.raw : undefined,
    serverCertificate,
    alpn: socket.alpnProtocol || "",
  };
}
