import type { Readable } from "node:stream";
import { reportFailure } from "../../lib/boundary.ts";

/**
 * Makes later reads of the paused stream return put-back bytes (`unshift`) in pieces of at most `maxBytes`. Changes
 * nothing if there are no more bytes than that.
 */
export function readInPieces(stream: Readable, maxBytes: number): void {
  if (stream.readableLength <= maxBytes) return;
  // Bound: a function created here would be allocated in old space and retain the stream long after its end (decision
  // 34).
  stream.read = readPiece.bind(stream, stream.read, maxBytes);
}

function readPiece(this: Readable, read: Readable["read"], maxBytes: number, size?: number): unknown {
  try {
    return read.call(this, size ?? (this.readableLength > maxBytes ? maxBytes : undefined));
  } catch (error) {
    reportFailure("connection", error);
    this.destroy();
    return null;
  }
}
