/**
 * G6: TLS between machines. The nodes' own authority certifies both ends. A certificate names one edge for its
 * lifetime, so another edge at the same address is not accepted.
 */
import { constants } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createSecureContext, createServer } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { guardListener, socketListener } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { issueLeaf } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import { lookupName } from "../../outbound/address-rules.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { handshakeMs } from "./peer-transport.ts";
import type { Dialled, PeerTransport } from "./peer-transport.ts";

/** Settings to reach and be reached by edges of other nodes. */
export interface TlsPlace {
  readonly listen: ListenAddress;
  /** Authority of the cluster, which only certifies edges. */
  readonly authority: KeyedCertificate;
}

export interface TlsTransportOptions extends TlsPlace {
  readonly edgeId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Another version of the line's content is another protocol. */
const protocol = "postern-peer/1";
/** Name in every edge's certificate. The common name identifies the edge. */
const peerName = "peer.postern.internal";
const certificateDays = 30;
const renewEveryMs = 5 * 24 * 60 * 60 * 1000;
/** Maximum number of unproven connections. Further ones are closed immediately. */
const maxUnproven = 256;

export function tlsTransport(options: TlsTransportOptions): PeerTransport {
  const { edgeId, listen: at, authority, clock, log, metrics } = options;
  const refused = metrics.counter(
    "postern_peer_refused_total",
    "Connections to the peer port that did not come from a peer.",
  );
  let context: SecureContext;
  let renewal: Timer | undefined;
  let unproven = 0;
  const server = createServer({
    minVersion: "TLSv1.3",
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: handshakeMs,
    ALPNProtocols: [protocol],
  });
  const certify = async (): Promise<void> => {
    const { certificatePem, keyPem } = await issueLeaf(authority, {
      names: [peerName],
      commonName: edgeId,
      usages: ["serverAuth", "clientAuth"],
      now: clock.now(),
      days: certificateDays,
    });
    // A ticket would let a peer return without a check of its certificate.
    const material = {
      cert: certificatePem,
      key: keyPem,
      ca: authority.certificatePem,
      minVersion: "TLSv1.3" as const,
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
    context = createSecureContext(material);
    server.setSecureContext(material);
  };
  return {
    kind: "tls",
    async listen(arrived) {
      await certify();
      renewal = clock.every(renewEveryMs, () => {
        certify().catch((error: unknown) => log.error("certificate for other nodes not renewed", { error }));
      });
      const admit = (socket: Socket): void => {
        unproven += 1;
        if (unproven > maxUnproven) socket.destroy();
      };
      server.on("connection", socketListener(admit));
      // One of the two events occurs once for each connection.
      server.on("tlsClientError", (error, socket) => {
        unproven -= 1;
        refused.add();
        log.debug("connection to the peer port rejected", { error });
        socket.destroy();
      });
      const secured = (socket: TLSSocket): void => {
        unproven -= 1;
        socket.on("error", ignoreError);
        if (socket.alpnProtocol === protocol) return arrived(socket);
        refused.add();
        socket.destroy();
      };
      server.on("secureConnection", socketListener(secured));
      server.listen({ ...(at.host !== undefined && { host: at.host }), port: at.port });
      await once(server, "listening");
      return String((server.address() as AddressInfo).port);
    },
    dial(to, otherId, done) {
      const { host, port } = placeOf(to);
      const socket = connect({
        host,
        port,
        lookup: lookupName,
        secureContext: context,
        servername: peerName,
        ALPNProtocols: [protocol],
        checkServerIdentity: (_name, { subject }) =>
          subject.CN === otherId ? undefined : new Error(`another edge now has the address: "${String(subject.CN)}"`),
      });
      settleHandshake(socket, clock, done);
    },
    close() {
      renewal?.cancel();
      if (server.listening) server.close();
    },
  };
}

/** Parses `HOST:PORT`, with an IPv6 host in brackets. */
function placeOf(at: string): { readonly host: string; readonly port: number } {
  const colon = at.lastIndexOf(":");
  return { host: at.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(at.slice(colon + 1)) };
}

/** Settles once: on the handshake, its failure, or a timeout. */
function settleHandshake(socket: TLSSocket, clock: Clock, done: Dialled): void {
  let isSettled = false;
  const settle = (error?: Error): void => {
    if (isSettled) return;
    isSettled = true;
    deadline.cancel();
    if (error) socket.destroy();
    done(error ? undefined : socket, error);
  };
  const deadline = clock.after(handshakeMs, () => settle(new Error("the other edge did not answer in time")));
  socket.on("error", guardListener(socket, settle));
  const closed = (): void => settle(new Error("the other edge closed the line"));
  socket.once("close", guardListener(socket, closed));
  const secured = (): void =>
    settle(socket.alpnProtocol === protocol ? undefined : new Error("the other edge speaks another protocol"));
  socket.once("secureConnect", guardListener(socket, secured));
}

function ignoreError(): void {
  // `close` follows and is handled.
}
