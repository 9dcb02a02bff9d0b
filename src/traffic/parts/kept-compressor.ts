/** Compressors that are made once for a thread: making one costs more than a small body's compression (decision 32). */
import { constants, createDeflate, createGzip, createZstdCompress } from "node:zlib";
import type { Deflate, Gzip, ZstdCompress } from "node:zlib";

/** Internals of Node's compressors, which its own synchronous calls use. */
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
  /** After a write: remaining bytes of the output buffer, and bytes of the input that were not read. */
  readonly _writeState: Uint32Array;
}

/** More than any of them adds to an incompressible body, bytes. */
const maxOverhead = 1024;
/** Minimum size of the output buffer inside Node's object, which is not used here. */
const leastChunk = { chunkSize: 64 };

/**
 * Compresses whole bodies synchronously and independently of each other. Throws if a body cannot be compressed.
 * @param end flush mode at the end of a body
 */
function reuseCompressor(
  make: () => Deflate | Gzip | ZstdCompress,
  end: number,
  maxBytes: number,
): (body: Buffer) => Buffer {
  let kept: Inside | undefined;
  let output: Buffer | undefined;
  const begin = (): Inside => {
    const made = make();
    // Errors are detected by the remaining bytes below.
    made.on("error", () => undefined);
    return made as unknown as Inside;
  };
  return (body) => {
    const compressor = (kept ??= begin());
    output ??= Buffer.allocUnsafeSlow(maxBytes + maxOverhead);
    const { _handle: handle, _writeState: left } = compressor;
    // A compressor that failed is not used again.
    kept = undefined;
    handle.reset();
    handle.writeSync(end, body, 0, body.length, output, 0, output.length);
    const outputLeft = left[0] as number;
    const inputLeft = left[1] as number;
    // Even an empty body produces output.
    const isDone = inputLeft === 0 && outputLeft > 0 && outputLeft < output.length;
    if (!isDone) throw new Error("compress a body: the compressor failed");
    kept = compressor;
    return Buffer.from(output.subarray(0, output.length - outputLeft));
  };
}

/** @param maxBytes maximum size of a body */
export function keepGzip(level: number, maxBytes: number): (body: Buffer) => Buffer {
  return reuseCompressor(() => createGzip({ ...leastChunk, level }), constants.Z_FINISH, maxBytes);
}

/** See {@link keepGzip}. */
export function keepDeflate(level: number, maxBytes: number): (body: Buffer) => Buffer {
  return reuseCompressor(() => createDeflate({ ...leastChunk, level }), constants.Z_FINISH, maxBytes);
}

/** See {@link keepGzip}. */
export function keepZstd(level: number, maxBytes: number): (body: Buffer) => Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return reuseCompressor(() => createZstdCompress({ ...leastChunk, params }), constants.ZSTD_e_end, maxBytes);
}
