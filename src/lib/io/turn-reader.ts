import type { Socket } from "node:net";
import { endUnit } from "../boundary.ts";
import { phase, putOff } from "../turn.ts";
import type { TurnTask } from "../turn.ts";

/** Held of one socket in a turn, bytes; what goes beyond is read at once. */
const maxHeld = 64 * 1024;

/**
 * Says that more is wanted than the chunk in hand. Call it first thing for each: a stream that has not heard so takes
 * a tick of its own behind every chunk to find out.
 */
export function readOn(socket: Socket): void {
  socket.read(0);
}

/** Who reads a socket in turns, and hears of everything else that becomes of it. */
export interface SocketReader {
  /** What comes, in order: all of it before anything else is told of what the peer did. */
  receive(bytes: Buffer): void;
  /** It takes more again, after a write for which it did not. */
  drained(): void;
  /** The peer sends no more. */
  ended(): void;
  /** `closed` follows. */
  failed(error: Error): void;
  /** One of the above threw: ends the connection, and reports the error. */
  broke(error: unknown): void;
  /** It is let go of here: nothing that Node still holds of the socket leads to it any more (decision 34). */
  closed(): void;
}

/** Reads a socket in the first phase of each turn, together with all others that something has come on. */
export function readInTurns(socket: Socket, reader: SocketReader): TurnReader {
  return new TurnReader(socket, reader);
}

/** Who hears of a socket that has closed. */
const nobody: SocketReader = { receive() {}, drained() {}, ended() {}, failed() {}, broke() {}, closed() {} };

/** See `readInTurns`. */
export class TurnReader implements TurnTask {
  readonly #socket: Socket;
  #reader: SocketReader;
  /** Mostly one chunk comes in a turn. */
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

  /** What the reader throws ends its connection and nothing else. */
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

  /** Takes what is held, at once. */
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
