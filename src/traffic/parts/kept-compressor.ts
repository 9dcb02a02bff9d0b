/** Compressors that are made once for a thread: making one costs more than a small body's compression (decision 49). */
import { constants } from "node:zlib";
import type { ZlibOptions as NodeZlibOptions, ZstdOptions as NodeZstdOptions } from "node:zlib";
import { Deflate, Gzip, ZstdCompress } from "minizlib";
import type { ZlibOptions } from "minizlib";

type Kept = Deflate | Gzip | ZstdCompress;

/**
 * Compresses whole bodies at once, one after another, each by itself: nothing of one is in the next. Throws when a body
 * cannot be compressed.
 * @param make with `flush` set to what ends a body
 */
function keep(make: () => Kept): (body: Buffer) => Buffer {
  let compressor: Kept | undefined;
  /** Of the present body; mostly one, so that the list is used again. */
  const pieces: Buffer[] = [];
  const begin = (): Kept => {
    const made = make();
    made.on("data", (piece: Buffer) => pieces.push(piece));
    // Of one that has failed.
    pieces.length = 0;
    return made;
  };
  return (body) => {
    const used = (compressor ??= begin());
    // One that fails is not used again.
    compressor = undefined;
    used.reset();
    used.write(body);
    const last = pieces.pop();
    // Not even an empty body comes to nothing.
    if (last === undefined) throw new Error("compress a body: the compressor gave nothing");
    compressor = used;
    return pieces.length === 0 ? last : Buffer.concat([...pieces.splice(0), last]);
  };
}

/** All of Node's, to which they go on. */
type Options = ZlibOptions & NodeZlibOptions & NodeZstdOptions;

/** @param maxBytes of a body; a larger one comes out in pieces, which are joined */
export function keepGzip(level: number, maxBytes: number): (body: Buffer) => Buffer {
  const options: Options = { level, flush: constants.Z_FINISH, chunkSize: maxBytes };
  return keep(() => new Gzip({ ...options }));
}

/** As {@link keepGzip}. */
export function keepDeflate(level: number, maxBytes: number): (body: Buffer) => Buffer {
  const options: Options = { level, flush: constants.Z_FINISH, chunkSize: maxBytes };
  return keep(() => new Deflate({ ...options }));
}

/** As {@link keepGzip}. */
export function keepZstd(level: number, maxBytes: number): (body: Buffer) => Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  const options: Options = { params, flush: constants.ZSTD_e_end, chunkSize: maxBytes };
  return keep(() => new ZstdCompress({ ...options }));
}
