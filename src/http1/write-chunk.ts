import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { FieldTable } from "./field-table.ts";
import { putBytes, putLatin1, reserveSlab, slab } from "./slab.ts";

/** Pieces up to this size are copied next to their framing. Larger ones are passed by reference. */
const copyBytes = 4096;
/** Maximum size of the size line and line end around a chunk. */
const framingBytes = 16;

/** Writes `bytes`, which must not be empty, as one chunk (RFC 9112 §7.1). Returns false like `ByteStream.write`. */
export function writeChunk(stream: Pick<ByteStream, "write">, bytes: Buffer): boolean {
  const { length } = bytes;
  if (length === 0) return true;
  const small = length <= copyBytes;
  reserveSlab(framingBytes + (small ? length : 0));
  const start = slab.used;
  let at = putLatin1(slab.bytes, start, `${length.toString(16)}\r\n`);
  if (!small) {
    slab.used = at;
    stream.write(slab.bytes.subarray(start, at));
    stream.write(bytes);
    return stream.write(lineEnd);
  }
  at = putBytes(slab.bytes, at, bytes, 0, length);
  at = putLatin1(slab.bytes, at, "\r\n");
  slab.used = at;
  return stream.write(slab.bytes.subarray(start, at));
}

/** Ends a chunked body. */
export function writeLastChunk(stream: Pick<ByteStream, "write">, trailers: FieldTable | undefined): boolean {
  if (trailers === undefined) return stream.write(lastChunk);
  reserveSlab(framingBytes + trailers.byteBound);
  const start = slab.used;
  let at = putLatin1(slab.bytes, start, "0\r\n");
  at = trailers.write(slab.bytes, at);
  at = putLatin1(slab.bytes, at, "\r\n");
  slab.used = at;
  return stream.write(slab.bytes.subarray(start, at));
}

const lineEnd = Buffer.from("\r\n");
const lastChunk = Buffer.from("0\r\n\r\n");
