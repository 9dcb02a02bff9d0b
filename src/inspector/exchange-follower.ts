/**
 * Captures traffic of a connection to the service. Most requests are recorded as bytes and parsed only when someone
 * looks. Other requests, and all requests while someone is watching, are parsed live.
 */
import type { StreamWatch } from "../agent/stream-watch.ts";
import { ExchangeReader } from "./exchange-reader.ts";
import type { FollowOptions } from "./begin-exchange.ts";
import { maxRecordedBytes } from "./recording.ts";
import type { RecordedEnd, Recording, RecordingSource } from "./recording.ts";
import { requestLength } from "./request-length.ts";

export class ExchangeFollower implements StreamWatch, RecordingSource {
  readonly #options: FollowOptions;
  /** The live parser. */
  #reader: ExchangeReader | undefined;
  /** The current recording, valid while it has this number. */
  #recording: Recording | undefined;
  #number = 0;
  /** Bytes of the request that have not arrived yet. */
  #left = 0;
  #isAnswering = false;

  constructor(options: FollowOptions) {
    this.#options = { ...options, hasPreamble: false };
    // The preamble appears only once per connection.
    if (options.hasPreamble) this.#reader = new ExchangeReader(options);
  }

  connected(): void {
    if (this.#reader) this.#reader.connected();
    else if (this.#isHere) this.#recording?.connected(this.#options.clock.monotonic());
  }

  fromServer(bytes: Buffer, at?: number): void {
    if (this.#reader) {
      if (!this.#reader.isIdle) return this.#reader.fromServer(bytes);
      this.#reader = undefined;
    }
    const recording = this.#recording;
    if (!recording || (this.#left === 0 && this.#isAnswering)) return this.#begin(bytes, at);
    const isBody = !this.#isAnswering && bytes.length <= this.#left;
    if (this.#isHere && !(isBody && recording.hasRoom(bytes.length))) return this.#readOn(recording).fromServer(bytes);
    this.#left = Math.max(0, this.#left - bytes.length);
    if (this.#isHere) this.#options.store.grewAt(recording, recording.ask(bytes));
  }

  fromService(bytes: Buffer, at = this.#options.clock.monotonic()): void {
    if (this.#reader) return this.#reader.fromService(bytes);
    const recording = this.#recording;
    // These bytes answer no request.
    if (!recording) return;
    const isUsual = (this.#isAnswering || isLastAnswer(bytes)) && recording.hasRoom(bytes.length);
    if (this.#isHere && !isUsual) return this.#readOn(recording).fromService(bytes);
    this.#isAnswering = true;
    if (!this.#isHere) return;
    this.#options.store.grewAt(recording, recording.answer(bytes, at));
  }

  ended(error?: Error): void {
    this.#reader?.ended(error);
    this.#leave(error ? "cut" : "ended");
  }

  /** Parses a recording. If its exchange is still open, later bytes are parsed live. */
  read(recording: Recording): void {
    if (recording === this.#recording) this.#readOn(recording);
    else this.#readerOf(recording);
  }

  #readerOf(recording: Recording): ExchangeReader {
    const reader = new ExchangeReader(this.#options, recording);
    const { asked, answered, end } = recording;
    reader.clock = recording;
    reader.fromServer(asked);
    if (answered.length > 0) reader.fromService(answered);
    const { exchange } = recording;
    if (exchange) exchange.connectedMs = recording.connectedMs;
    const lastMs = recording.durationMs;
    if (end !== "open") reader.ended(end === "cut" ? new Error("cut") : undefined);
    if (exchange && exchange.outcome !== "open" && answered.length > 0) exchange.durationMs = lastMs;
    reader.clock = this.#options.clock;
    return reader;
  }

  /** Whether the recording still belongs to this connection. */
  get #isHere(): boolean {
    return this.#number > 0 && this.#recording?.number === this.#number;
  }

  #begin(bytes: Buffer, at: number | undefined): void {
    const { store } = this.#options;
    this.#leave("ended");
    const length = store.isWatched ? -1 : requestLength(bytes);
    if (length < bytes.length || length > maxRecordedBytes) {
      this.#reader = new ExchangeReader(this.#options);
      return this.#reader.fromServer(bytes);
    }
    const recording = store.take(this, at);
    this.#recording = recording;
    this.#number = recording.number;
    this.#left = length - bytes.length;
    this.#isAnswering = false;
    store.grewAt(recording, recording.ask(bytes));
  }

  /** Switches from recording to live parsing. */
  #readOn(recording: Recording): ExchangeReader {
    const reader = this.#readerOf(recording);
    this.#recording = undefined;
    this.#reader = reader;
    return reader;
  }

  #leave(end: RecordedEnd): void {
    if (this.#isHere) this.#recording?.leave(end, this.#options.clock);
    this.#recording = undefined;
  }
}

/** Whether the first bytes of a response show that it is final (RFC 9110 §15.2). */
function isLastAnswer(bytes: Buffer): boolean {
  return bytes.length > 12 && bytes[0] === 72 && bytes[8] === 32 && (bytes[9] as number) > 49;
}
