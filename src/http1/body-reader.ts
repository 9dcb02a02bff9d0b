import { byteClass, cr, hexValue, lf, semicolon, valueByte } from "./bytes.ts";
import { FieldTable } from "./field-table.ts";
import { HeadBuffer } from "./head-buffer.ts";
import { incomplete, readFields, refuseFields } from "./read-fields.ts";
import { admitTrailers } from "./trailer-fields.ts";

/** Hexadecimal digits of a chunk's size, leading zeros included. */
const maxSizeDigits = 12;
/** Maximum for one chunk, and for all chunks of a message together (security W7). */
const maxExtensionBytes = 256;
const maxTotalExtensionBytes = 4096;
const maxTrailerBytes = 8192;
const maxTrailers = 32;

const atSize = 0;
const inSize = 1;
const inExtension = 2;
const atSizeLf = 3;
const inData = 4;
const atDataCr = 5;
const atDataLf = 6;
const inTrailers = 7;
const inLength = 8;
const untilEnd = 9;
const finished = 10;

/**
 * Removes the framing of a message body (RFC 9112 §6, §7), strictly. Each connection has one reader, which is reset for
 * each message. Call `step` until it has consumed the bytes or reports `done`. After each step, a piece of the body may
 * be in [`pieceStart`, `pieceEnd`) of the same bytes.
 */
export class BodyReader {
  pieceStart = 0;
  pieceEnd = 0;
  /** Set after a chunked body with trailers. */
  trailers: FieldTable | undefined;
  #state = finished;
  #left = 0;
  #digits = 0;
  #extension = 0;
  #totalExtension = 0;
  #trailerBytes: HeadBuffer | undefined;

  get done(): boolean {
    return this.#state === finished;
  }

  /** The end of the connection is the end of the body. */
  get untilClose(): boolean {
    return this.#state === untilEnd;
  }

  startLength(length: number): void {
    this.#start(length === 0 ? finished : inLength);
    this.#left = length;
  }

  startChunked(): void {
    this.#start(atSize);
  }

  /** The body lasts until the connection ends (responses only). */
  startUntilClose(): void {
    this.#start(untilEnd);
  }

  /**
   * Continues at `at`, over framing and at most one piece of the body. Returns the new position, or `malformed` with
   * the reason in `fault`.
   */
  step(bytes: Buffer, at: number): number {
    const { length } = bytes;
    this.pieceStart = this.pieceEnd = at;
    switch (this.#state) {
      case inLength:
        return this.#piece(at, Math.min(length, at + this.#left), finished);
      case inData:
        return this.#piece(at, Math.min(length, at + this.#left), atDataCr);
      case untilEnd:
        this.pieceEnd = length;
        return length;
      case inTrailers:
        return this.#readTrailers(bytes, at);
      default:
        return this.#frame(bytes, at, length);
    }
  }

  #start(state: number): void {
    this.#state = state;
    this.#totalExtension = 0;
    this.trailers = undefined;
    this.#trailerBytes = undefined;
  }

  #piece(start: number, end: number, next: number): number {
    this.pieceStart = start;
    this.pieceEnd = end;
    this.#left -= end - start;
    if (this.#left === 0) this.#state = next;
    return end;
  }

  /** Reads chunk framing up to the first byte of data or of the trailers, or to the end of the bytes. */
  #frame(bytes: Buffer, start: number, length: number): number {
    let at = start;
    while (at < length) {
      const byte = bytes[at] as number;
      at += 1;
      switch (this.#state) {
        case atDataCr:
          if (byte !== cr) return refuseFields("chunk longer than its size");
          this.#state = atDataLf;
          break;
        case atDataLf:
          if (byte !== lf) return refuseFields("bare CR behind a chunk");
          this.#state = atSize;
          break;
        case atSize:
          if (hexValue[byte] === 255) return refuseFields("invalid chunk size");
          this.#left = hexValue[byte] as number;
          this.#digits = 1;
          this.#extension = 0;
          this.#state = inSize;
          break;
        case inSize:
          if (hexValue[byte] !== 255) {
            if ((this.#digits += 1) > maxSizeDigits) return refuseFields("chunk size too long");
            this.#left = this.#left * 16 + (hexValue[byte] as number);
          } else if (byte === semicolon) this.#state = inExtension;
          else if (byte === cr) this.#state = atSizeLf;
          else return refuseFields("invalid chunk size");
          break;
        case inExtension:
          if (byte === cr) this.#state = atSizeLf;
          else if (((byteClass[byte] as number) & valueByte) === 0) return refuseFields("invalid chunk extension");
          else if ((this.#extension += 1) > maxExtensionBytes) return refuseFields("chunk extension too long");
          else if ((this.#totalExtension += 1) > maxTotalExtensionBytes)
            return refuseFields("chunk extensions too long");
          break;
        default:
          if (byte !== lf) return refuseFields("bare CR behind a chunk size");
          if (this.#left > 0) {
            this.#state = inData;
            return this.#piece(at, Math.min(length, at + this.#left), atDataCr);
          }
          this.#state = inTrailers;
          return at < length ? this.#readTrailers(bytes, at) : at;
      }
    }
    return at;
  }

  #readTrailers(bytes: Buffer, at: number): number {
    this.pieceStart = this.pieceEnd = at;
    const kept = this.#trailerBytes;
    if (kept === undefined && bytes[at] === cr && bytes[at + 1] === lf) {
      this.#state = finished;
      return at + 2;
    }
    const before = kept?.length ?? 0;
    // The section is parsed as if an empty line preceded it, so that one search finds its end.
    const buffer = (this.#trailerBytes ??= new HeadBuffer());
    if (before === 0) buffer.add(lineEnd, maxTrailerBytes);
    const skipped = before === 0 ? lineEnd.length : 0;
    if (!buffer.add(at === 0 ? bytes : bytes.subarray(at), maxTrailerBytes)) return bytes.length;
    const all = buffer.bytes();
    const end = Math.min(all.length, maxTrailerBytes);
    const table = new FieldTable(all, maxTrailers);
    const outcome = readFields(table, lineEnd.length, end, maxTrailers);
    if (outcome === incomplete) return end < all.length ? refuseFields("trailers too long") : bytes.length;
    if (outcome < 0) return refuseFields("invalid trailers");
    if (!admitTrailers(table)) return refuseFields("framing or routing field in the trailers");
    if (table.count > 0) this.trailers = table;
    this.#trailerBytes = undefined;
    this.#state = finished;
    return at + outcome - before - skipped;
  }
}

const lineEnd = Buffer.from("\r\n");
