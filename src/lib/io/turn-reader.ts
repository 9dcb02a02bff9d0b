import type { Socket } from "node:net";
import { endUnit } from "../boundary.ts";
import { phase, putOff } from "../turn.ts";
import type { TurnTask } from "../turn.ts";

/** Maximum bytes of one socket buffered in a turn. Beyond that, they are read immediately. */
const maxHeld = 64 * 1024;

/**
 * Signals that more data is wanted after the present chunk. Call this first for each chunk. Otherwise the stream needs
 * a separate tick after each chunk to find out.
 */
export function readOn(socket: Socket): void {
  socket.read(0);
}

/** Reads a socket in turns, and handles all its other events. */
export interface SocketReader {
  /** Called with incoming data, in order. All data arrives before any other event of the peer. */
  receive(bytes: Buffer): void;
  /** The socket can be written again, after a write that returned false. */
  drained(): void;
  /** The peer sends no more data. */
  ended(): void;
  /** `closed` follows. */
  failed(error: Error): void;
  /** One of the callbacks threw: ends the connection, and reports the error. */
  broke(error: unknown): void;
  /** The socket is released here. Nothing that Node still holds of the socket references it any more (decision 34). */
  closed(): void;
}

/** Reads a socket in the first phase of each turn, together with all others that have received data. */
export function readInTurns(socket: Socket, reader: SocketReader): TurnReader {
  return new TurnReader(socket, reader);
}

/** Reader of a closed socket. */
const nobody: SocketReader = { receive() {}, drained() {}, ended() {}, failed() {}, broke() {}, closed() {} };

/** See `readInTurns`. */
export class TurnReader implements TurnTask {
  readonly #socket: Socket;
  #reader: SocketReader;
  /** Usually one chunk arrives in a turn. */
  #held: Buffer | undefined;
  #more: Buffer[] | undefined;
  #heldBytes = 0;

  constructor(socket: Socket, reader: SocketReader) {
    this.#socket = socket;
    this.#reader = reader;
    socket.on("data", (bytes: Buffer) => {
      readOn(socket);
      this.#hold(bytes);
      if ((this.#heldBytes += bytes.length) > maxHeld) this.turn();
    });
    socket.on("drain", () => this.#tell("drained"));
    socket.on("end", () => {
      this.turn();
      this.#tell("ended");
    });
    socket.on("error", (error) => {
      this.turn();
      this.#tell("failed", error);
    });
    socket.on("close", () => {
      this.turn();
      const last = this.#reader;
      this.#reader = nobody;
      try {
        last.closed();
      } catch (error) {
        endUnit("connection", last, error);
      }
    });
  }

  /** An error in the reader ends only its connection. */
  #tell(event: "drained" | "ended" | "failed", error?: Error): void {
    try {
      if (event === "failed") this.#reader.failed(error as Error);
      else this.#reader[event]();
    } catch (thrown) {
      this.#broke(thrown);
    }
  }

  #broke(error: unknown): void {
    try {
      this.#reader.broke(error);
    } catch (another) {
      endUnit("connection", {}, another);
      this.#socket.destroy();
    }
  }

  /** Passes on the buffered data, immediately. */
  turn(): void {
    const held = this.#held;
    if (held === undefined) return;
    const more = this.#more;
    this.#held = undefined;
    this.#more = undefined;
    this.#heldBytes = 0;
    try {
      this.#reader.receive(held);
      if (more !== undefined) for (const bytes of more) this.#reader.receive(bytes);
    } catch (error) {
      this.#broke(error);
    }
  }

  #hold(bytes: Buffer): void {
    if (this.#held === undefined) {
      this.#held = bytes;
      putOff(this, phase.read);
    } else (this.#more ??= []).push(bytes);
  }
}
