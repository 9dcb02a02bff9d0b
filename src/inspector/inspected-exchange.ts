/** One request and its response as they passed through the agent, with bounds. */
import type { WebSocketLog } from "./websocket-log.ts";

/** Captured bytes of each body. Further bytes are only counted. */
export const maxBodyBytes = 262_144;

/** How an exchange ended. */
export type ExchangeState =
  /** Still open. */
  | "open"
  | "complete"
  /** The connection ended before the response was complete. */
  | "cut"
  /** Both sides switched to another protocol, such as WebSocket, and the connection has ended. */
  | "upgraded"
  /** The bytes were not valid HTTP/1.1. They were forwarded and counted. */
  | "unreadable";

/** A copy of a body without framing, up to `maxBodyBytes`. */
export class BodyCopy {
  /** Number of bytes that passed. */
  total = 0;
  /** Whether the body is complete. */
  ended = false;
  #bytes: Buffer | undefined;
  #length = 0;

  /** Whether part of the body was not captured. */
  get isCut(): boolean {
    return this.total > this.#length;
  }

  bytes(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.#length);
  }

  /**
   * Adds a piece. Returns the number of additional bytes held in memory.
   * @param isKept false to only count the piece
   */
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
  /** Trailer fields as lines. HTTP/2 only. */
  trailers?: Buffer;
}

export interface InspectedExchange {
  /** 16 hexadecimal digits. */
  readonly id: string;
  /** Number within the agent, starting at 1. */
  readonly number: number;
  readonly tunnel: string;
  /** Address of the visitor, as far as known. */
  readonly client: string;
  /** Wall clock at the first byte, milliseconds since 1970. */
  readonly at: number;
  /** Monotonic time at the first byte. */
  readonly since: number;
  readonly method: string;
  readonly target: string;
  /** Request line and fields, as sent. */
  readonly head: Buffer;
  readonly body: BodyCopy;
  /** Id of the exchange that this one replays. */
  readonly replayOf: string | undefined;
  response: CapturedResponse | undefined;
  outcome: ExchangeState;
  /** Why the bytes could not be parsed, as a clause. */
  fault: string | undefined;
  /**
   * Milliseconds from the first byte until the service accepted the connection; undefined if the connection was already
   * open.
   */
  connectedMs: number | undefined;
  /** Milliseconds from the first byte to the last; undefined while the exchange is open. */
  durationMs: number | undefined;
  /** Bytes after the switch to another protocol. */
  bytesIn: number;
  bytesOut: number;
  /** Messages of a WebSocket, while they are captured. */
  webSocket: WebSocketLog | undefined;
}
