import type { Faults } from "./faults.ts";
import { defaultWindow, errorCode, flag, frameType } from "../../http2/http2-frames.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import type { Http2Output } from "./output.ts";
import type { Http2Stream } from "./http2-stream.ts";
import type { StreamSet } from "./stream-set.ts";

/**
 * Number of unconsumed body bytes that a client may send on all streams, in addition to the growth of the streams'
 * windows (D1).
 */
const windowBytes = 1024 * 1024;

/** Passes a connection's DATA to its streams within the advertised windows. */
export class DataReceiver {
  readonly #output: Http2Output;
  readonly #streams: StreamSet;
  readonly #windows: WindowBudget;
  readonly #faults: Faults;
  /** Number of DATA bytes that the client may still send. */
  #window = windowBytes;
  /** Number of received and not yet consumed bytes. */
  #outstanding = 0;
  /** Stream of the frame being read. Undefined if its bytes are discarded. */
  #reading: Http2Stream | undefined;

  constructor(output: Http2Output, streams: StreamSet, faults: Faults) {
    this.#output = output;
    this.#streams = streams;
    this.#windows = streams.windows;
    this.#faults = faults;
  }

  /** Advertises the window, after the first SETTINGS. */
  open(): void {
    this.#output.number(frameType.windowUpdate, 0, windowBytes - defaultWindow);
  }

  /** Stream of the frame being read. 0 if its bytes are discarded. */
  get streamId(): number {
    return this.#reading?.id ?? 0;
  }

  /** Called when body bytes were consumed. */
  credited(byteCount: number): void {
    this.#outstanding -= byteCount;
    const increment = windowBytes + this.#windows.grown - this.#outstanding - this.#window;
    if (increment < windowBytes / 4 || this.#faults.isDone) return;
    this.#window += increment;
    this.#output.number(frameType.windowUpdate, 0, increment);
  }

  /**
   * Begins a frame.
   * @param length of the payload with padding
   * @param padding bytes of the payload that do not belong to the body
   */
  begin(flags: number, streamId: number, length: number, padding: number): void {
    this.#reading = undefined;
    const faults = this.#faults;
    if (streamId === 0 || streamId > this.#streams.lastId) {
      return faults.broken(errorCode.protocolError, "DATA on no stream");
    }
    if (length === padding && (flags & flag.endStream) === 0 && !faults.count("hollow")) return;
    this.#window -= length;
    this.#outstanding += length;
    if (this.#window < 0) return faults.broken(errorCode.flowControlError, "more DATA than the window");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      this.credited(length);
      const { answeredEarly } = this.#streams;
      if (answeredEarly.drop(streamId, length)) {
        if ((flags & flag.endStream) !== 0) answeredEarly.ended(streamId);
        return;
      }
      if (!this.#streams.wasReset(streamId)) faults.broken(errorCode.streamClosed, "DATA on a closed stream");
      return;
    }
    const isCovered = stream.announced(length);
    if (stream.remoteEnded || !isCovered) {
      this.credited(length);
      const code = stream.remoteEnded ? errorCode.streamClosed : errorCode.flowControlError;
      return faults.streamError(stream, code, "more DATA than may come");
    }
    this.#reading = stream;
    if (padding > 0) stream.skipped(padding);
  }

  take(bytes: Buffer): void {
    const stream = this.#reading;
    // The window was already restored at the start of the frame if the stream was closed.
    if (stream === undefined) return;
    if (stream.isGone) {
      this.credited(bytes.length);
    } else if (!stream.receive(bytes)) {
      this.credited(bytes.length);
      this.#faults.streamError(stream, errorCode.protocolError, "more DATA than content-length");
    }
  }

  end(flags: number): void {
    const stream = this.#reading;
    this.#reading = undefined;
    if (stream === undefined || stream.isGone || (flags & flag.endStream) === 0) return;
    if (stream.receiveEnd(undefined)) return;
    this.#faults.streamError(stream, errorCode.protocolError, "less DATA than content-length");
  }
}
