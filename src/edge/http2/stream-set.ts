import type { Deadlines } from "../../lib/deadlines.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import { Roster } from "../../lib/collections/roster.ts";
import { defaultWindow, frameType, maxWindow } from "../../http2/http2-frames.ts";
import { AnsweredStreams } from "./answered-streams.ts";
import type { Http2Output } from "./output.ts";
import type { Http2Stream, StreamOwner } from "./http2-stream.ts";

/** Maximum number of requests in flight per connection (D1). */
export const maxStreams = 100;
/** Maximum number of reset streams that are remembered because more of their frames may arrive. */
const maxRemembered = 200;

/** Receives the events of a connection's streams. */
export interface StreamSetOwner {
  /** Called when body bytes were consumed. */
  credited(byteCount: number): void;
  sentData(): void;
  /** Called when the last stream is over. */
  empty(): void;
}

/** The streams of one connection. Shares the client's send window among them. */
export class StreamSet implements StreamOwner {
  readonly output: Http2Output;
  readonly windows: WindowBudget;
  /** Answered streams that the client has not ended. */
  readonly answeredEarly: AnsweredStreams;
  /** Highest stream id that the client has used. */
  lastId = 0;
  /** Number of DATA bytes that the client allows on the connection. */
  sendWindow = defaultWindow;
  /** Time since which there has been no stream, in `Deadlines.now`. Infinity while there is one. */
  idleSince: number;
  readonly #deadlines: Deadlines;
  readonly #owner: StreamSetOwner;
  readonly #streams = new Roster<Http2Stream>();
  /** Last stream found. A client's body frames arrive in runs. */
  #found: Http2Stream | undefined;
  /** Streams with bytes that wait for room, in round-robin order. */
  readonly #waiting = new Set<Http2Stream>();
  readonly #reset = new Set<number>();

  constructor(output: Http2Output, windows: WindowBudget, deadlines: Deadlines, owner: StreamSetOwner) {
    this.output = output;
    this.windows = windows;
    this.#deadlines = deadlines;
    this.#owner = owner;
    this.idleSince = deadlines.now;
    this.answeredEarly = new AnsweredStreams(output, deadlines, (id) => this.#remember(id));
  }

  get size(): number {
    return this.#streams.size;
  }

  all(): readonly Http2Stream[] {
    return this.#streams.members();
  }

  get(id: number): Http2Stream | undefined {
    if (id > this.lastId) return undefined;
    if (this.#found?.id === id) return this.#found;
    // There are at most `maxStreams`.
    for (let place = 0; place < this.#streams.size; place += 1) {
      const stream = this.#streams.at(place);
      if (stream.id === id) return (this.#found = stream);
    }
    return undefined;
  }

  add(stream: Http2Stream): void {
    this.#streams.add(stream);
    this.idleSince = Infinity;
  }

  /** Whether we ended the stream. The client may have sent this frame before it knew. */
  wasReset(id: number): boolean {
    return this.#reset.has(id);
  }

  /** Resets a stream that never opened. */
  refuse(id: number, code: number): void {
    this.#remember(id);
    this.output.number(frameType.rstStream, id, code);
  }

  /** Records an answered stream that never opened. */
  answeredUnopened(id: number, endStream: boolean): void {
    if (!endStream) this.answeredEarly.add(id, maxStreams);
  }

  /** Changes the windows of all streams. Returns false if one becomes too large (RFC 9113 §6.9.2). */
  widen(change: number): boolean {
    if (change === 0) return true;
    for (const stream of this.all()) if (!this.widenOne(stream, change)) return false;
    return true;
  }

  widenOne(stream: Http2Stream, change: number): boolean {
    stream.sendWindow += change;
    if (stream.hasQueue) this.#waiting.add(stream);
    return stream.sendWindow <= maxWindow;
  }

  /** Sends one frame of each waiting stream in turn, while there is room. */
  pump(): void {
    for (const stream of this.#waiting) {
      if (this.room <= 0) return;
      // A stream that was served moves to the end of the queue.
      this.#waiting.delete(stream);
      try {
        const more = stream.pump(1);
        stream.stalledSince = more ? this.#deadlines.now : Infinity;
        if (more && stream.sendWindow > 0) this.#waiting.add(stream);
        stream.resume();
      } catch (error) {
        stream.broke(error);
      }
    }
  }

  /** Continues when the socket has drained. */
  resume(): void {
    this.pump();
    for (const stream of this.all()) {
      try {
        stream.resume();
      } catch (error) {
        stream.broke(error);
      }
    }
  }

  // Implementation of StreamOwner.

  get room(): number {
    return this.output.isFull ? 0 : this.sendWindow;
  }

  spent(byteCount: number): void {
    this.sendWindow -= byteCount;
    this.#owner.sentData();
  }

  credited(byteCount: number): void {
    this.#owner.credited(byteCount);
  }

  waits(stream: Http2Stream): void {
    const { now } = this.#deadlines;
    if (stream.stalledSince === Infinity) stream.stalledSince = now;
    if (stream.waitingSince === Infinity) {
      stream.waitingSince = now;
      stream.takenBytes = 0;
    }
    this.#waiting.add(stream);
  }

  answered(stream: Http2Stream): void {
    this.answeredEarly.add(stream.id, maxStreams);
  }

  gone(stream: Http2Stream): void {
    this.#streams.delete(stream);
    if (this.#found === stream) this.#found = undefined;
    this.#waiting.delete(stream);
    if (stream.isReset) this.#remember(stream.id);
    if (this.#streams.size > 0) return;
    this.idleSince = this.#deadlines.now;
    this.#owner.empty();
  }

  #remember(id: number): void {
    this.#reset.add(id);
    if (this.#reset.size <= maxRemembered) return;
    for (const oldest of this.#reset) {
      this.#reset.delete(oldest);
      return;
    }
  }
}
