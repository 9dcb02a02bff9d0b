/** One request and its answer as they passed through the agent, bounded. */
import type { WebSocketLog } from "./websocket-log.ts";

/** What is kept of one body, bytes; the rest is counted. */
export const maxBodyBytes = 262_144;

/** How an exchange went. */
export type Outcome =
  /** It goes on. */
  | "open"
  | "complete"
  /** The connection ended before the answer was complete. */
  | "cut"
  /** Both sides went on in another protocol, such as WebSocket, and are through. */
  | "upgraded"
  /** Something was no HTTP/1.1: it was passed on, and counted. */
  | "unreadable";

/** A copy of a body without its framing, up to `maxBodyBytes`. */
export class BodyCopy {
  /** Bytes that passed. */
  total = 0;
  /** All of it has passed. */
  ended = false;
  #bytes: Buffer | undefined;
  #length = 0;

  /** Some of it was not kept. */
  get isCut(): boolean {
    return this.total > this.#length;
  }

  bytes(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.#length);
  }

  /** A piece passes. Returns by how many bytes more memory is held. @param isKept else it is only counted */
  add(piece: Buffer, start: number, end: number, isKept: boolean): number {
    const wasCut = this.isCut;
    this.total += end - start;
    const taken = isKept && !wasCut ? Math.min(end - start, maxBodyBytes - this.#length) : 0;
    if (taken === 0) return 0;
    const needed = this.#length + taken;
    let held = 0;
    let kept = this.#bytes;
    if (kept === undefined || kept.length < needed) {
      const grown = Buffer.allocUnsafe(kept === undefined ? needed : Math.min(maxBodyBytes, needed * 2));
      kept?.copy(grown, 0, 0, this.#length);
      held = grown.length - (kept?.length ?? 0);
      this.#bytes = kept = grown;
    }
    piece.copy(kept, this.#length, start, start + taken);
    this.#length = needed;
    return held;
  }
}

export interface CapturedResponse {
  readonly status: number;
  /** Status line and fields, as sent. */
  readonly head: Buffer;
  readonly body: BodyCopy;
  /** Milliseconds since the request began. */
  readonly firstByteMs: number;
  /** Fields behind the body, as lines; of HTTP/2 alone. */
  trailers?: Buffer;
}

export interface Exchange {
  /** 16 hexadecimal digits. */
  readonly id: string;
  /** Of its agent, from 1 on. */
  readonly number: number;
  readonly tunnel: string;
  /** The visitor's address, as far as it is known. */
  readonly client: string;
  /** Wall clock at the first byte, milliseconds since 1970. */
  readonly at: number;
  /** Monotonic, as `at`. */
  readonly since: number;
  readonly method: string;
  readonly target: string;
  /** Request line and fields, as sent. */
  readonly head: Buffer;
  readonly body: BodyCopy;
  /** The exchange that this one repeats. */
  readonly replayOf: string | undefined;
  response: CapturedResponse | undefined;
  outcome: Outcome;
  /** What could not be read, as a clause. */
  fault: string | undefined;
  /** Milliseconds from the first byte until the service had taken the connection; undefined: it was open before. */
  connectedMs: number | undefined;
  /** Milliseconds from the first byte to the last; undefined while it goes on. */
  durationMs: number | undefined;
  /** Bytes of another protocol, once both sides have taken it up. */
  bytesIn: number;
  bytesOut: number;
  /** Of a WebSocket, while it is kept. */
  webSocket: WebSocketLog | undefined;
}
