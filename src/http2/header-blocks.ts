import { dependsOnItself, protocolError } from "./check-frame.ts";
import type { ConnectionError } from "./check-frame.ts";
import { errorCode, flag, readUint31 } from "./http2-frames.ts";

/** Maximum size of a header block before decompression, and of the CONTINUATION frames after its HEADERS (D1). */
const maxBlockBytes = 64 * 1024;
const maxContinuations = 16;

/** A header block and its stream: `bytes[start, end)`, valid until the next frame is read. */
interface HeaderBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The frame belongs to an incomplete block. */
export const unfinished = "unfinished";
/** Like `unfinished`, but the frame was empty. */
export const hollow = "hollow";

export type BlockProgress = HeaderBlock | ConnectionError | typeof unfinished | typeof hollow;

/** Assembles header blocks from HEADERS and CONTINUATION frames (RFC 9113 §6.2, §6.10). */
export class HeaderBlocks {
  /** The block that is being received. */
  #open: { readonly streamId: number; readonly endStream: boolean; readonly since: number } | undefined;
  #parts: Buffer[] = [];
  #size = 0;

  /** When the current block started; Infinity if there is none. */
  get openSince(): number {
    return this.#open?.since ?? Infinity;
  }

  /** @param now becomes `openSince` */
  headers(flags: number, streamId: number, bytes: Buffer, start: number, end: number, now: number): BlockProgress {
    let from = start;
    let to = end;
    if ((flags & flag.padded) !== 0) {
      if (from === to) return { code: errorCode.frameSizeError, reason: "HEADERS without its pad length" };
      to -= bytes[from] as number;
      from += 1;
    }
    if ((flags & flag.priority) !== 0) {
      if (end - from < 5) return { code: errorCode.frameSizeError, reason: "HEADERS without its priority" };
      if (readUint31(bytes, from) === streamId) return dependsOnItself;
      from += 5;
    }
    if (from > to) return protocolError("padding longer than its frame");
    const endStream = (flags & flag.endStream) !== 0;
    if ((flags & flag.endHeaders) !== 0) return { streamId, endStream, bytes, start: from, end: to };
    this.#open = { streamId, endStream, since: now };
    this.#parts = [Buffer.from(bytes.subarray(from, to))];
    this.#size = to - from;
    return from === to ? hollow : unfinished;
  }

  continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): BlockProgress {
    const open = this.#open;
    if (open === undefined || open.streamId !== streamId) return protocolError("CONTINUATION of no header block");
    this.#parts.push(Buffer.from(bytes.subarray(start, end)));
    this.#size += end - start;
    if (this.#parts.length - 1 > maxContinuations || this.#size > maxBlockBytes) {
      return { code: errorCode.enhanceYourCalm, reason: "header block too long" };
    }
    if ((flags & flag.endHeaders) === 0) return start === end ? hollow : unfinished;
    const whole = Buffer.concat(this.#parts);
    this.#open = undefined;
    this.#parts = [];
    return { streamId, endStream: open.endStream, bytes: whole, start: 0, end: whole.length };
  }
}
