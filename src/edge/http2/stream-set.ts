import type { Deadlines } from "../../lib/deadlines.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import { Roster } from "../../lib/collections/roster.ts";
import { defaultWindow, frameType, maxWindow } from "../../http2/frames.ts";
import { AnsweredStreams } from "./answered-streams.ts";
import type { Http2Output } from "./output.ts";
import type { Http2Stream, StreamOwner } from "./stream.ts";

/** Requests in flight per connection (D1). */
export const maxStreams = 100;
/** Streams that we have reset and about which frames may still be under way. */
const maxRemembered = 200;

/** What the streams of a connection tell it. */
export interface StreamSetOwner {
  /** Body bytes need no more room in the client's window. */
  credited(byteCount: number): void;
  sentData(): void;
  /** The last stream is over. */
  empty(): void;
}

/** The streams of one connection, and how they share what the client lets it send. */
export class StreamSet implements StreamOwner {
  readonly output: Http2Output;
  readonly windows: WindowBudget;
  /** Streams that are answered and that the client has not ended. */
  readonly answeredEarly: AnsweredStreams;
  /** Highest stream id that the client has used. */
  lastId = 0;
  /** DATA that the client lets the connection send. */
  sendWindow = defaultWindow;
  /** In `Deadlines.now`: since when there has been no stream; Infinity while there is one. */
  idleSince: number;
  readonly #deadlines: Deadlines;
  readonly #owner: StreamSetOwner;
  readonly #streams = new Roster<Http2Stream>();
  /** Found last: what a client sends of a body comes in runs. */
  #found: Http2Stream | undefined;
  /** Streams with bytes that wait for room, in the order in which their turn comes. */
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
    // There are `maxStreams` at most.
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

  /** The stream was ended by us, and the client may not have known it when it sent what comes now. */
  wasReset(id: number): boolean {
    return this.#reset.has(id);
  }

  /** Resets a stream that never opened. */
  refuse(id: number, code: number): void {
    this.#remember(id);
    this.output.number(frameType.rstStream, id, code);
  }

  /** A stream that never opened was answered. */
  answeredUnopened(id: number, endStream: boolean): void {
    if (!endStream) this.answeredEarly.add(id, maxStreams);
  }

  /** Changes the windows of all streams. False when one becomes too large (RFC 9113 §6.9.2). */
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

  /** One frame of each stream that waits, in turns, as long as there is room. */
  pump(): void {
    for (const stream of this.#waiting) {
      if (this.room <= 0) return;
      // To the back: whoever was served waits for the others.
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

  /** The socket takes bytes again. */
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

  // StreamOwner.

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
