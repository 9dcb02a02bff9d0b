/** Compressors that are made once for a thread: making one costs more than a small body's compression (decisions 49, 55). */
import { constants, createDeflate, createGzip, createZstdCompress } from "node:zlib";
import type { Deflate, Gzip, ZstdCompress } from "node:zlib";

/** What Node's compressors have inside, by which its own synchronous calls compress. */
interface Inside {
  readonly _handle: {
    writeSync(
      flush: number,
      input: Buffer,
      inputAt: number,
      inputBytes: number,
      output: Buffer,
      outputAt: number,
      outputBytes: number,
    ): void;
    reset(): void;
  };
  /** Behind a write: bytes of the output that are left, and bytes of the input that were not read. */
  readonly _writeState: Uint32Array;
}

/** More than any of them adds to a body that does not shrink, bytes. */
const maxOverhead = 1024;
/** Of the output that Node's object has, and nobody uses, bytes; its least. */
const leastChunk = { chunkSize: 64 };

/**
 * Compresses whole bodies at once, one after another, each by itself: nothing of one is in the next. Throws when a body
 * cannot be compressed.
 * @param end what ends a body
 */
function keep(make: () => Deflate | Gzip | ZstdCompress, end: number, maxBytes: number): (body: Buffer) => Buffer {
  let kept: Inside | undefined;
  let output: Buffer | undefined;
  const begin = (): Inside => {
    const made = make();
    // What goes wrong shows in what is left: see below.
    made.on("error", () => undefined);
    return made as unknown as Inside;
  };
  return (body) => {
    const compressor = (kept ??= begin());
    output ??= Buffer.allocUnsafeSlow(maxBytes + maxOverhead);
    const { _handle: handle, _writeState: left } = compressor;
    // One that fails is not used again.
    kept = undefined;
    handle.reset();
    handle.writeSync(end, body, 0, body.length, output, 0, output.length);
    const outputLeft = left[0] as number;
    const inputLeft = left[1] as number;
    // Not even an empty body comes to nothing.
    const isDone = inputLeft === 0 && outputLeft > 0 && outputLeft < output.length;
    if (!isDone) throw new Error("compress a body: the compressor failed");
    kept = compressor;
    return Buffer.from(output.subarray(0, output.length - outputLeft));
  };
}

/** @param maxBytes of a body */
export function keepGzip(level: number, maxBytes: number): (body: Buffer) => Buffer {
  return keep(() => createGzip({ ...leastChunk, level }), constants.Z_FINISH, maxBytes);
}

/** As {@link keepGzip}. */
export function keepDeflate(level: number, maxBytes: number): (body: Buffer) => Buffer {
  return keep(() => createDeflate({ ...leastChunk, level }), constants.Z_FINISH, maxBytes);
}

/** As {@link keepGzip}. */
export function keepZstd(level: number, maxBytes: number): (body: Buffer) => Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return keep(() => createZstdCompress({ ...leastChunk, params }), constants.ZSTD_e_end, maxBytes);
}
