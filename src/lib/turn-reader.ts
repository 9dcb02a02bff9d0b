import type { Socket } from "node:net";
import { phase, putOff } from "./turn.ts";
import type { TurnTask } from "./turn.ts";

/** Held of one socket in a turn, bytes; what goes beyond is read at once. */
const maxHeld = 64 * 1024;

/**
 * Says that more is wanted than the chunk in hand. Call it first thing for each: a stream that has not heard so takes
 * a tick of its own behind every chunk to find out.
 */
export function readOn(socket: Socket): void {
  socket.read(0);
}

/**
 * Reads a socket in the first phase of each turn, together with all others that something has come on.
 * @param take is given what comes, in order, all of it before the socket's "end", "error" and "close"
 */
export function readInTurns(socket: Socket, take: (bytes: Buffer) => void): TurnReader {
  return new TurnReader(socket, take);
}

/** See `readInTurns`. */
export class TurnReader implements TurnTask {
  readonly #take: (bytes: Buffer) => void;
  /** Mostly one chunk comes in a turn. */
  #held: Buffer | undefined;
  #more: Buffer[] | undefined;
  #heldBytes = 0;

  constructor(socket: Socket, take: (bytes: Buffer) => void) {
    this.#take = take;
    const takeHeld = (): void => this.turn();
    socket.on("data", (bytes: Buffer) => {
      readOn(socket);
      this.#hold(bytes);
      if ((this.#heldBytes += bytes.length) > maxHeld) this.turn();
    });
    for (const event of ["end", "error", "close"]) socket.on(event, takeHeld);
  }

  /** Takes what is held, at once. */
  turn(): void {
    const held = this.#held;
    if (held === undefined) return;
    const more = this.#more;
    this.#held = undefined;
    this.#more = undefined;
    this.#heldBytes = 0;
    this.#take(held);
    if (more !== undefined) for (const bytes of more) this.#take(bytes);
  }

  #hold(bytes: Buffer): void {
    if (this.#held === undefined) {
      this.#held = bytes;
      putOff(this, phase.read);
    } else (this.#more ??= []).push(bytes);
  }
}
