import type { Readable } from "node:stream";
import { reportFailure } from "../../lib/boundary.ts";

/**
 * Has whoever reads the paused stream from here on be given what was put back (`unshift`) in pieces of at most `maxBytes`.
 * Where no more than that is there, nothing is changed.
 */
export function readInPieces(stream: Readable, maxBytes: number): void {
  if (stream.readableLength <= maxBytes) return;
  // Bound: a function written here would be born old, and keep the stream long after its end (decision 34).
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
