import { errorCode, flag, frameHeaderBytes, frameType, maxFrameBytes, preface, readUint31 } from "./http2-frames.ts";

/** Receives frames. Each call may end the connection, after which nothing more is read. */
export interface FrameHandler {
  /** Whether reading should stop. */
  readonly isDone: boolean;
  /** A complete frame other than DATA. Its payload is `bytes[start, end)`, valid only during the call. */
  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void;
  /** A DATA frame starts. `length` is its payload with padding, `padding` the part that does not belong to the body. */
  dataBegins(flags: number, streamId: number, length: number, padding: number): void;
  /** Body bytes of the current DATA frame. */
  data(bytes: Buffer): void;
  /** The DATA frame is complete. */
  dataEnds(flags: number): void;
  /** The bytes are not valid HTTP/2. */
  broken(code: number, reason: string): void;
}

/** A larger buffer is released after its frame, because most connections are idle. */
const maxKeptBytes = 512;

const inPreface = 0;
const inHeader = 1;
const inFrame = 2;
const inPadLength = 3;
const inData = 4;
const inPadding = 5;

/**
 * Splits a connection's bytes into frames. DATA is passed on as it arrives, without waiting for the end of the frame
 * and without copying. Of other frames, at most one is buffered until it is complete.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  #mode = inPreface;
  /** Received part of the preface, a header or a frame that did not arrive in one piece. */
  #partial = Buffer.allocUnsafeSlow(preface.length);
  #have = 0;
  #length = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Remaining body and padding of the DATA frame. */
  #body = 0;
  #padding = 0;
  #isStopped = false;

  /** @param fromClient the bytes start with the client preface */
  constructor(handler: FrameHandler, fromClient = true) {
    this.#handler = handler;
    if (!fromClient) this.#mode = inHeader;
  }

  /** Stops reading behind the current frame, until the next `read`. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Returns the number of bytes that were read: all of them, if nothing stops the reader. */
  read(bytes: Buffer): number {
    let at = 0;
    this.#isStopped = false;
    while (at < bytes.length && !this.#isStopped && !this.#handler.isDone) {
      switch (this.#mode) {
        case inData:
          at = this.#readData(bytes, at);
          break;
        case inPadding: {
          const taken = Math.min(this.#padding, bytes.length - at);
          at += taken;
          this.#padding -= taken;
          if (this.#padding === 0) this.#dataDone();
          break;
        }
        case inPadLength:
          this.#beginData(bytes[at] as number, 1);
          at += 1;
          break;
        default:
          at = this.#readWhole(bytes, at);
      }
    }
    return at;
  }

  /** Reads the preface, a header or a frame in place if it is complete. */
  #readWhole(bytes: Buffer, at: number): number {
    const size = this.#mode === inPreface ? preface.length : this.#mode === inHeader ? frameHeaderBytes : this.#length;
    if (this.#have === 0 && bytes.length - at >= size) {
      this.#whole(bytes, at, at + size);
      return at + size;
    }
    if (this.#partial.length < size) this.#partial = Buffer.allocUnsafeSlow(size);
    const taken = Math.min(size - this.#have, bytes.length - at);
    bytes.copy(this.#partial, this.#have, at, at + taken);
    this.#have += taken;
    if (this.#have < size) return at + taken;
    this.#have = 0;
    this.#whole(this.#partial, 0, size);
    if (this.#partial.length > maxKeptBytes) this.#partial = Buffer.allocUnsafeSlow(frameHeaderBytes);
    return at + taken;
  }

  #whole(bytes: Buffer, start: number, end: number): void {
    if (this.#mode === inHeader) {
      this.#header(bytes, start);
      return;
    }
    const wasPreface = this.#mode === inPreface;
    this.#mode = inHeader;
    if (!wasPreface) {
      this.#handler.frame(this.#type, this.#flags, this.#streamId, bytes, start, end);
    } else if (!bytes.subarray(start, end).equals(preface)) {
      this.#handler.broken(errorCode.protocolError, "no connection preface");
    }
  }

  #header(bytes: Buffer, at: number): void {
    const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    this.#length = length;
    this.#type = bytes[at + 3] as number;
    this.#flags = bytes[at + 4] as number;
    this.#streamId = readUint31(bytes, at + 5);
    if (length > maxFrameBytes) {
      this.#handler.broken(errorCode.frameSizeError, "frame too large");
    } else if (this.#type !== frameType.data) {
      if (length > 0) this.#mode = inFrame;
      else this.#handler.frame(this.#type, this.#flags, this.#streamId, bytes, at, at);
    } else if ((this.#flags & flag.padded) === 0) {
      this.#beginData(0, 0);
    } else if (length === 0) {
      this.#handler.broken(errorCode.frameSizeError, "DATA without its pad length");
    } else {
      this.#mode = inPadLength;
    }
  }

  #beginData(padding: number, padLengthBytes: number): void {
    const body = this.#length - padLengthBytes - padding;
    if (body < 0) {
      this.#handler.broken(errorCode.protocolError, "padding longer than its frame");
      return;
    }
    this.#body = body;
    this.#padding = padding;
    this.#handler.dataBegins(this.#flags, this.#streamId, this.#length, padding + padLengthBytes);
    this.#mode = body > 0 ? inData : inPadding;
    if (body === 0 && padding === 0) this.#dataDone();
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#body);
    this.#body -= end - at;
    if (this.#body === 0) this.#mode = inPadding;
    this.#handler.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#body === 0 && this.#padding === 0) this.#dataDone();
    return end;
  }

  #dataDone(): void {
    this.#mode = inHeader;
    if (!this.#handler.isDone) this.#handler.dataEnds(this.#flags);
  }
}
