import type { Socket } from "node:net";
import { runContained, endUnit } from "../boundary.ts";
import { phase, putOff } from "../turn.ts";
import type { TurnTask } from "../turn.ts";
import { readOn } from "./turn-reader.ts";
import type { ByteReceiver, ByteStream } from "./byte-stream.ts";

/** Unconsumed bytes at the receiver at which the socket is paused. */
const receiveWindowBytes = 256 * 1024;

const corked: Socket[] = [];
const uncorking: TurnTask = {
  turn() {
    for (const socket of corked.splice(0)) if (!runContained("connection", () => socket.uncork())) socket.destroy();
  },
};

/**
 * Collects everything written to `socket` until this turn of the event loop ends, and sends it in one piece. A write
 * per frame costs several times its work in system calls.
 */
export function corkForTurn(socket: Socket): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  if (corked.push(socket) === 1) putOff(uncorking, phase.sockets);
}

/**
 * Wraps a connected socket as a `ByteStream`, which owns it from then on. The socket must be created with
 * `allowHalfOpen: true`. Otherwise the end of one direction ends both.
 * @param resets `abort` resets the connection, so that the peer does not mistake the abort for an end; in TLS only a
 * `close_notify` is an end, and the connection is closed
 */
export function socketStream(socket: Socket, receiver: ByteReceiver, resets = false): ByteStream {
  return new SocketStream(socket, receiver, resets);
}

/** Resets the connection if possible: it is plain TCP, open, and its end is not being sent. */
export function cutSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (socket.connecting || isEnding || "encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

/**
 * Destroys a socket after an error. A fatal TLS error ends the connection (RFC 8446 §6.2), but Node leaves the socket
 * open. The alert may be waiting behind a write that was just sent.
 */
export function destroyNextTurn(socket: Socket): void {
  setImmediate(destroySocket, socket);
}

function destroySocket(socket: Socket): void {
  socket.destroy();
}

/** Ends a socket with `last`, and destroys it when these bytes are written. */
export function endWith(socket: Socket, last: string | Uint8Array): void {
  socket.end(last, () => socket.destroy());
}

class SocketStream implements ByteStream {
  receiver: ByteReceiver;
  readonly #socket: Socket;
  readonly #resets: boolean;
  #unconsumed = 0;
  #error: Error | undefined;

  constructor(socket: Socket, receiver: ByteReceiver, resets: boolean) {
    this.#socket = socket;
    this.#resets = resets;
    this.receiver = receiver;
    socket.on("data", (bytes: Buffer) => {
      readOn(socket);
      this.#unconsumed += bytes.length;
      if (this.#unconsumed >= receiveWindowBytes) socket.pause();
      this.#tell(deliverData, bytes);
    });
    socket.on("end", () => this.#tell(deliverEnd));
    socket.on("drain", () => this.#tell(deliverDrain));
    socket.on("error", (error) => {
      this.#error = error;
      destroyNextTurn(socket);
    });
    socket.on("close", () => this.#tell(deliverClose, this.#error));
  }

  /** An error in the receiver ends only this connection. */
  #tell<Told>(event: (receiver: ByteReceiver, argument: Told) => void, argument: Told = undefined as Told): void {
    const { receiver } = this;
    try {
      event(receiver, argument);
    } catch (error) {
      endUnit("connection", receiver, error);
      this.#socket.destroy();
    }
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#socket.writable) return true;
    corkForTurn(this.#socket);
    return this.#socket.write(bytes);
  }

  writeLatin1(text: string): boolean {
    if (!this.#socket.writable) return true;
    corkForTurn(this.#socket);
    return this.#socket.write(text, "latin1");
  }

  end(): void {
    if (!this.#socket.writable) return;
    this.#socket.end();
  }

  abort(): void {
    if (this.#resets) cutSocket(this.#socket);
    else this.#socket.destroy();
  }

  consumed(byteCount: number): void {
    this.#unconsumed -= byteCount;
    if (this.#unconsumed < receiveWindowBytes && this.#socket.isPaused()) this.#socket.resume();
  }
}

function deliverData(receiver: ByteReceiver, bytes: Buffer): void {
  receiver.data(bytes);
}

function deliverEnd(receiver: ByteReceiver): void {
  receiver.ended();
}

function deliverDrain(receiver: ByteReceiver): void {
  receiver.drained();
}

function deliverClose(receiver: ByteReceiver, error: Error | undefined): void {
  receiver.closed(error);
}
