import { AsyncLocalStorage } from "node:async_hooks";
import { constants } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { SecureContext, Server, TLSSocket, TlsOptions } from "node:tls";
import { contain, listener, reportFailure, socketListener } from "../../lib/boundary.ts";
import { destroyNextTurn } from "../../lib/io/socket-stream.ts";
import { readInPieces } from "./read-in-pieces.ts";

/**
 * Node keeps what it is given of a ClientHello in a block of 1 KiB, and takes one of 16 KiB beside it once that has been
 * full: hellos with a key share of ML-KEM are larger, and the blocks stay for as long as the connection does (decision 30).
 */
const maxPieceBytes = 1023;

/** Takes connections through the handshake of one TLS server, which itself does not listen. */
export interface Handshaker {
  /**
   * Begins the handshake on a paused socket, with bytes that were put back (`unshift`) read first. `settled` is
   * called once, with an error when the connection closes before the handshake has ended; ending it in time is
   * up to the caller.
   */
  accept(socket: Socket, settled: (result: TLSSocket | Error) => void): void;
}

/** One that hosts share: a server of Node's for each would take 5 KiB more (decision 4). */
export interface SharedHandshaker {
  /** As `accept` of a `Handshaker`, with a context other than the server's own. */
  acceptWith(context: SecureContext, socket: Socket, settled: (result: TLSSocket | Error) => void): void;
}

/** K1: forward secrecy and authenticated encryption only; keys and signatures of at least 112 bits. */
export const tlsStrength = {
  // Whoever begins a handshake ends it in time. Node's own timer would be one more for each connection; a negative time
  // leaves it out.
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
  // Of all that OpenSSL knows what certificates are signed with that are in use, the usual first: with each handshake its
  // list and the client's are gone through (decision 34).
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
interface Pending {
  /** Whom its end is told; undefined once it was. */
  settled: ((result: TLSSocket | Error) => void) | undefined;
}

/**
 * Which one has ended is not told by Node, but goes along with what the handshake calls. Neither of the two sockets has to
 * be asked, and no server stands in for this one: each would have a shape that code compiled for others does not know
 * (decision 34).
 */
const handshakes = new AsyncLocalStorage<Pending>();

/** What a server of Node's begins a connection with; its types do not have it. */
interface WithContext {
  _sharedCreds: SecureContext;
}

export function makeHandshaker(tls: Server): Handshaker & SharedHandshaker {
  const secured = (socket: TLSSocket): void => {
    const fail = (): void => destroyNextTurn(socket);
    socket.on("error", listener(socket, fail));
    const close = (): void => letGo(socket);
    socket.on("close", listener(socket, close));
    settle(handshakes.getStore() as Pending, socket);
  };
  tls.on("secureConnection", socketListener(secured));
  // the plain socket is closed with it, which is told of below
  tls.on("tlsClientError", () => undefined);
  const accept = (socket: Socket, settled: (result: TLSSocket | Error) => void): void => {
    const pending: Pending = { settled };
    const close = (): void => {
      contain("connection", () => settle(pending, new Error("the TLS handshake failed")));
      letGo(socket);
    };
    socket.on("close", listener(socket, close));
    if (socket.readableLength > maxPieceBytes) {
      readInPieces(socket, maxPieceBytes);
      // Bound, as `readPiece` is.
      socket.destroy = destroyBehindAlert.bind(socket, socket.destroy, pending);
    }
    handshakes.run(pending, begin, tls, socket);
  };
  return {
    accept,
    acceptWith(context, socket, settled) {
      (tls as unknown as WithContext)._sharedCreds = context;
      accept(socket, settled);
    },
  };
}

function begin(tls: Server, socket: Socket): void {
  tls.emit("connection", socket);
}

/**
 * Node destroys the socket as soon as the handshake fails. Where a piece before has been answered in the same turn, the
 * alert waits behind that answer, and leaves in the next turn.
 */
function destroyBehindAlert(this: Socket, destroy: Socket["destroy"], pending: Pending, error?: Error): Socket {
  try {
    if (pending.settled === undefined) return destroy.call(this, error);
  } catch (thrown) {
    reportFailure("connection", thrown);
  }
  setImmediate(Reflect.apply, destroy, this, [error]);
  return this;
}

/** What waited for the end is kept no longer than until then: the connection may be open for hours. */
function settle(pending: Pending, result: TLSSocket | Error): void {
  const { settled } = pending;
  pending.settled = undefined;
  settled?.(result);
}

/**
 * Node's accessors of a TLS connection outlive it, until the whole heap is collected, and lead to both of its sockets
 * (decision 34). Whoever else hears of the close still does: they were listed before.
 */
function letGo(socket: Socket): void {
  // as of any emitter: a stream would look after its readers once more, on a tick of its own
  EventEmitter.prototype.removeAllListeners.call(socket);
  socket.on("error", ignore);
}

/** Nothing is expected behind a close; an error that nobody listens to would end the thread. */
function ignore(): void {}
