import { AsyncLocalStorage } from "node:async_hooks";
import { constants } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { SecureContext, Server, TLSSocket, TlsOptions } from "node:tls";
import { runContained, guardListener, reportFailure, socketListener } from "../../lib/boundary.ts";
import { destroyNextTurn } from "../../lib/io/socket-stream.ts";
import { readInPieces } from "./read-in-pieces.ts";

/**
 * Node stores ClientHello data in a block of 1 KiB. When that was full once, Node adds a block of 16 KiB. Hellos with
 * an ML-KEM key share are larger, and the blocks exist as long as the connection (decision 30).
 */
const maxPieceBytes = 1023;

/** Performs handshakes with one TLS server, which itself does not listen. */
export interface Handshaker {
  /**
   * Begins the handshake on a paused socket and reads bytes that were put back (`unshift`) first. Calls `settled` once,
   * with an error if the connection closes before the end of the handshake. The caller must enforce the timeout.
   */
  accept(socket: Socket, settled: (result: TLSSocket | Error) => void): void;
}

/** A handshaker shared by several hosts. A Node server for each would take 5 KiB more (decision 4). */
export interface SharedHandshaker {
  /** Like `accept` of `Handshaker`, with another context than the server's own. */
  acceptWith(context: SecureContext, socket: Socket, settled: (result: TLSSocket | Error) => void): void;
}

/** K1: forward secrecy and authenticated encryption only, keys and signatures of at least 112 bits. */
export const tlsStrength = {
  // The caller enforces the timeout. Node's timer would be one more per connection. A negative time disables it.
  handshakeTimeout: -1,
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
  // OpenSSL's signature algorithms that certificates actually use, the most common first. Each handshake scans this
  // list and the client's (decision 34).
  sigalgs: [
    "ecdsa_secp256r1_sha256",
    "rsa_pss_rsae_sha256",
    "ecdsa_secp384r1_sha384",
    "rsa_pss_rsae_sha384",
    "rsa_pss_rsae_sha512",
    "ed25519",
    "ecdsa_secp521r1_sha512",
    "ed448",
    "mldsa44",
    "mldsa65",
    "mldsa87",
    "rsa_pss_pss_sha256",
    "rsa_pss_pss_sha384",
    "rsa_pss_pss_sha512",
    "rsa_pkcs1_sha256",
    "rsa_pkcs1_sha384",
    "rsa_pkcs1_sha512",
  ].join(":"),
  secureOptions:
    constants.SSL_OP_NO_RENEGOTIATION |
    constants.SSL_OP_NO_COMPRESSION |
    constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
    constants.SSL_OP_PRIORITIZE_CHACHA,
} as const satisfies TlsOptions;

/** A handshake that has begun. */
interface PendingHandshake {
  /** Callback for the end of the handshake. Undefined after it was called. */
  settled: ((result: TLSSocket | Error) => void) | undefined;
}

/**
 * Node does not identify the ended handshake, but its events run in the handshake's async context. So neither socket
 * needs properties, and no wrapper replaces the server. Either would have a shape that compiled code does not know
 * (decision 34).
 */
const handshakes = new AsyncLocalStorage<PendingHandshake>();

/** Options with which Node's server begins a connection. Node's types omit them. */
interface WithContext {
  _sharedCreds: SecureContext;
}

export function makeHandshaker(tls: Server): Handshaker & SharedHandshaker {
  const secured = (socket: TLSSocket): void => {
    const fail = (): void => destroyNextTurn(socket);
    socket.on("error", guardListener(socket, fail));
    const close = (): void => releaseSocket(socket);
    socket.on("close", guardListener(socket, close));
    settleHandshake(handshakes.getStore() as PendingHandshake, socket);
  };
  tls.on("secureConnection", socketListener(secured));
  // The plain socket closes together with it, which is reported below.
  tls.on("tlsClientError", () => undefined);
  const accept = (socket: Socket, settled: (result: TLSSocket | Error) => void): void => {
    const pending: PendingHandshake = { settled };
    const close = (): void => {
      runContained("connection", () => settleHandshake(pending, new Error("the TLS handshake failed")));
      releaseSocket(socket);
    };
    socket.on("close", guardListener(socket, close));
    if (socket.readableLength > maxPieceBytes) {
      readInPieces(socket, maxPieceBytes);
      // Bound, like `readPiece`.
      socket.destroy = destroyBehindAlert.bind(socket, socket.destroy, pending);
    }
    handshakes.run(pending, beginHandshake, tls, socket);
  };
  return {
    accept,
    acceptWith(context, socket, settled) {
      (tls as unknown as WithContext)._sharedCreds = context;
      accept(socket, settled);
    },
  };
}

function beginHandshake(tls: Server, socket: Socket): void {
  tls.emit("connection", socket);
}

/**
 * Node destroys the socket as soon as the handshake fails. If an earlier piece was answered in the same turn, the alert
 * waits behind that answer and leaves in the next turn.
 */
function destroyBehindAlert(
  this: Socket,
  destroy: Socket["destroy"],
  pending: PendingHandshake,
  error?: Error,
): Socket {
  try {
    if (pending.settled === undefined) return destroy.call(this, error);
  } catch (thrown) {
    reportFailure("connection", thrown);
  }
  setImmediate(Reflect.apply, destroy, this, [error]);
  return this;
}

/** Releases all state that waited for the end, because the connection may be open for hours. */
function settleHandshake(pending: PendingHandshake, result: TLSSocket | Error): void {
  const { settled } = pending;
  pending.settled = undefined;
  settled?.(result);
}

/**
 * Node's accessors of a TLS connection outlive it until a full garbage collection and reference both of its sockets
 * (decision 34). Other listeners of the close still run, because their list was copied before.
 */
function releaseSocket(socket: Socket): void {
  // Uses the plain emitter's method: a stream's method would check its readers again in a separate tick.
  EventEmitter.prototype.removeAllListeners.call(socket);
  socket.on("error", ignoreError);
}

/** No error is expected after a close, but an error without a listener would end the thread. */
function ignoreError(): void {}
