import { constants, createHash, createHmac, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { createServer } from "node:tls";
import type { Server, TLSSocket, TlsOptions } from "node:tls";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Handshake } from "../modules/module.ts";
import { Lru } from "./lru.ts";
import type { ServerCertificate } from "./server-certificate.ts";

/**
 * The TLS servers behind the listener, one for each site and certificate, made when first needed. `SNICallback`
 * of one server for all would neither hold a site's minimum version nor ask for its client certificates.
 */
export interface TlsServers {
  /** Throws when the certificate, or an authority in `handshake`, cannot be used. */
  server(siteId: string, handshake: Handshake, certificate: ServerCertificate): TlsServer;
  stop(): void;
}

export interface TlsServer {
  /** Begins the handshake on a connection whose first bytes were put back (`unshift`). */
  accept(socket: Socket, settled: (result: TLSSocket | Error) => void): void;
}

/** An OpenSSL context takes some 30 kB. */
const maxServers = 2000;
const ticketRotationMs = 8 * 60 * 60 * 1000;
const ticketKeyBytes = 48;

/** K1: forward secrecy and authenticated encryption only; keys and signatures of at least 112 bits. */
export const tlsStrength = {
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.3",
  ciphers: [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "@SECLEVEL=2",
  ].join(":"),
  secureOptions:
    constants.SSL_OP_NO_RENEGOTIATION |
    constants.SSL_OP_NO_COMPRESSION |
    constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
    constants.SSL_OP_PRIORITIZE_CHACHA,
} as const satisfies TlsOptions;

export function makeTlsServers(clock: Clock): TlsServers {
  const servers = new Lru<string, Entry>(maxServers);
  let secret = randomBytes(32);
  const rotation: Timer = clock.every(ticketRotationMs, () => {
    secret = randomBytes(32);
    for (const [key, { tls }] of servers.entries()) tls.setTicketKeys(ticketKeys(secret, key));
  });
  return {
    server(siteId, handshake, certificate) {
      const key = digest([siteId, certificate.id, ...demands(handshake)]);
      let entry = servers.get(key);
      if (!entry) servers.set(key, (entry = makeEntry(key, ticketKeys(secret, key), handshake, certificate)));
      return entry;
    },
    stop: () => rotation.cancel(),
  };
}

/** What of a handshake must be the same for a connection to go on under a changed configuration. */
export function sameDemands(one: Handshake, other: Handshake): boolean {
  const [left, right] = [demands(one), demands(other)];
  return left.every((part, at) => part === right[at]);
}

function demands(handshake: Handshake): string[] {
  return [handshake.minVersion ?? "", handshake.clientAuthorities ?? ""];
}

interface Entry extends TlsServer {
  readonly tls: Server;
}

function makeEntry(key: string, keys: Buffer, handshake: Handshake, certificate: ServerCertificate): Entry {
  const pending = new Map<string, (result: TLSSocket | Error) => void>();
  const tls = createServer({
    ...tlsStrength,
    cert: certificate.certificatePem,
    key: certificate.keyPem,
    minVersion: handshake.minVersion ?? tlsStrength.minVersion,
    ALPNProtocols: ["h2", "http/1.1"],
    ticketKeys: keys,
    // K2: with the ticket keys, keeps a session from being resumed under another site or other demands
    sessionIdContext: key.slice(0, 32),
    // a socket that half-closes may still be owed a response
    allowHalfOpen: true,
    ...(handshake.clientAuthorities !== undefined && {
      ca: handshake.clientAuthorities,
      requestCert: true,
      rejectUnauthorized: true,
      // a resumed session is not verified again, and would outlive the client's certificate
      secureOptions: tlsStrength.secureOptions | constants.SSL_OP_NO_TICKET,
    }),
  });
  const settle = (name: string, result: TLSSocket | Error): void => {
    const settled = pending.get(name);
    pending.delete(name);
    settled?.(result);
  };
  tls.on("secureConnection", (socket) => settle(connectionName(socket), socket));
  // the connection is closed by then, and told of by that
  tls.on("tlsClientError", () => undefined);
  return {
    tls,
    accept(socket, settled) {
      const name = connectionName(socket);
      pending.set(name, settled);
      socket.once("close", () => settle(name, new Error("the TLS handshake failed")));
      tls.emit("connection", socket);
    },
  };
}

/** Tells connections of one listener apart, on the plain socket and on the TLS socket over it. */
function connectionName(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}|${socket.localAddress}`;
}

function ticketKeys(secret: Buffer, key: string): Buffer {
  return createHmac("sha512", secret).update(key).digest().subarray(0, ticketKeyBytes);
}

function digest(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex");
}
