/** Splits input into frames without copying payloads. Each chunk is read once and passed on in parts. */
import { errorCode, frameType, headerLength, maxWindow, ProtocolViolation, readUint32 } from "./frame.ts";

/** Receives frames in the order of their bytes. May throw `ProtocolViolation`. */
export interface FrameHandler {
  /** The header of a DATA frame. Returning false skips its payload, and `dataEnds` is not called. */
  dataBegins(streamId: number, flags: number, length: number): boolean;
  /** A part of the payload of the current DATA frame. */
  data(bytes: Buffer): void;
  /** The current DATA frame is complete. */
  dataEnds(): void;
  reset(streamId: number, code: number): void;
  windowIncrement(streamId: number, increment: number): void;
  /**
   * The session has ended. Nothing is read after this. The peer has processed no stream above `lastStreamId`. `text`: the
   * reason, or the part of it that arrived with the frame.
   */
  goAway(lastStreamId: number, code: number, text: string): void;
  /** A frame type of a later protocol. Its body is skipped. */
  unknownFrame(length: number): void;
}

const inHeader = 0;
const inPayload = 1;
const inSkipped = 2;
/** The fixed part of RST, WNDINC and GOAWAY. */
const inBody = 3;
const over = 4;

/** Maximum bytes of a reason. */
const maxReasonBytes = 200;

export class FrameReader {
  readonly #handler: FrameHandler;
  /** A header or fixed body that spans chunks. */
  readonly #scratch = new Uint8Array(headerLength);
  #scratchLength = 0;
  #state = inHeader;
  #left = 0;
  #type = 0;
  #streamId = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Passes nothing more on, not even the rest of the current chunk. */
  stop(): void {
    this.#state = over;
  }

  /** Reads the next bytes of the connection. */
  read(chunk: Buffer): void {
    const end = chunk.length;
    let at = 0;
    while (at < end) {
      if (this.#state === inHeader) {
        if (this.#scratchLength === 0 && end - at >= headerLength) {
          this.#begin(chunk, at);
          at += headerLength;
        } else {
          at = this.#gather(chunk, at, headerLength);
          if (this.#scratchLength === headerLength) {
            this.#scratchLength = 0;
            this.#begin(this.#scratch, 0);
          }
        }
      } else if (this.#state === inPayload) {
        const take = Math.min(this.#left, end - at);
        const whole = at === 0 && take === end;
        this.#left -= take;
        this.#handler.data(whole ? chunk : chunk.subarray(at, at + take));
        at += take;
        if (this.#left === 0 && this.#state === inPayload) {
          this.#state = inHeader;
          this.#handler.dataEnds();
        }
      } else if (this.#state === inBody) {
        at = this.#gather(chunk, at, this.#left);
        if (this.#scratchLength === this.#left) this.#body(chunk.subarray(at, at + maxReasonBytes));
      } else if (this.#state === inSkipped) {
        const take = Math.min(this.#left, end - at);
        this.#left -= take;
        at += take;
        if (this.#left === 0) this.#state = inHeader;
      } else {
        return;
      }
    }
  }

  #gather(chunk: Buffer, from: number, wanted: number): number {
    let at = from;
    while (this.#scratchLength < wanted && at < chunk.length) {
      this.#scratch[this.#scratchLength] = chunk[at] as number;
      this.#scratchLength += 1;
      at += 1;
    }
    return at;
  }

  #begin(from: Uint8Array, at: number): void {
    const length = ((from[at] as number) << 16) | ((from[at + 1] as number) << 8) | (from[at + 2] as number);
    const typeAndFlags = from[at + 3] as number;
    const streamId = readUint32(from, at + 4) & maxWindow;
    const type = typeAndFlags >>> 4;
    if (type === frameType.data) {
      if (streamId === 0) throw new ProtocolViolation(errorCode.protocol, "DATA on stream 0");
      if (!this.#handler.dataBegins(streamId, typeAndFlags & 15, length)) return this.#skip(length);
      if (this.#state === over) return;
      if (length === 0) return this.#handler.dataEnds();
      this.#state = inPayload;
      this.#left = length;
      return;
    }
    this.#type = type;
    this.#streamId = streamId;
    if (type === frameType.reset || type === frameType.windowIncrement) {
      if (length !== 4) throw new ProtocolViolation(errorCode.frameSize, `frame type ${type} of ${length} bytes`);
      if (streamId === 0) throw new ProtocolViolation(errorCode.protocol, `frame type ${type} on stream 0`);
      this.#state = inBody;
      this.#left = 4;
    } else if (type === frameType.goAway) {
      // Rust peers write only the length of the text, so the fixed part is read regardless of the header (§2.4).
      this.#state = inBody;
      this.#left = 8;
    } else {
      this.#handler.unknownFrame(length);
      this.#skip(length);
    }
  }

  #skip(length: number): void {
    if (this.#state === over || length === 0) return;
    this.#state = inSkipped;
    this.#left = length;
  }

  /** @param rest bytes after the fixed part */
  #body(rest: Buffer): void {
    this.#scratchLength = 0;
    this.#state = inHeader;
    if (this.#type === frameType.goAway) {
      this.#state = over;
      this.#handler.goAway(
        readUint32(this.#scratch, 0) & maxWindow,
        readUint32(this.#scratch, 4),
        rest.toString("utf8"),
      );
      return;
    }
    const value = readUint32(this.#scratch, 0);
    if (this.#type === frameType.reset) this.#handler.reset(this.#streamId, value);
    else this.#handler.windowIncrement(this.#streamId, value & maxWindow);
  }
}
