import type { Readable } from "node:stream";

/**
 * Has whoever reads the paused stream from here on be given what was put back (`unshift`) in pieces of at most `maxBytes`.
 * Where no more than that is there, nothing is changed.
 */
export function readInPieces(stream: Readable, maxBytes: number): void {
  if (stream.readableLength <= maxBytes) return;
  const read = stream.read.bind(stream);
  stream.read = (size) => read(size ?? (stream.readableLength > maxBytes ? maxBytes : undefined));
}
