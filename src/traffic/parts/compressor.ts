import type { Transform } from "node:stream";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
} from "node:zlib";
import type { BodyStage, WholeStage } from "../body-stage.ts";
import type { Coding } from "./accept-encoding.ts";
import { keepDeflate, keepGzip, keepZstd } from "./kept-compressor.ts";

/** Up to here one synchronous call costs less than a trip to the thread pool. */
const maxSmallBytes = 16 * 1024;
const gzipLevel = 5;
/** On the thread that carries traffic: 16 KiB of JSON take 29 µs where level 5 takes 50, and 8 % more bytes. */
const smallGzipLevel = 3;
/** More than brotli adds to a small body that does not shrink, bytes; Node's least size of a piece. */
const maxOverhead = 64;
const brotliQuality = 4;
const zstdLevel = 3;
/** As {@link smallGzipLevel}: an eighth less time than level 3, and 1 to 4 % more bytes. */
const smallZstdLevel = 1;

/**
 * A stage that compresses a body. Without a small known length everything that goes in comes out at once, so
 * that event streams are never held up. @param length of the body in bytes, undefined when unknown
 */
export function compressor(coding: Coding, length: number | undefined): BodyStage {
  return length !== undefined && length <= maxSmallBytes ? whole[coding] : streaming[coding];
}

/** Base 2 logarithm of bytes: a stream of unknown length costs its window, and filling its tables is the first delay. */
const streamWindow = 18;

const brotli = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
const brotliStream = { ...brotli, [constants.BROTLI_PARAM_LGWIN]: streamWindow };
const zstdStream = { [constants.ZSTD_c_compressionLevel]: zstdLevel, [constants.ZSTD_c_windowLog]: streamWindow };

const whole: Readonly<Record<Coding, WholeStage>> = {
  gzip: small(keepGzip(smallGzipLevel, maxSmallBytes)),
  deflate: small(keepDeflate(smallGzipLevel, maxSmallBytes)),
  zstd: small(keepZstd(smallZstdLevel, maxSmallBytes)),
  // Its encoder is made anew for each body, whoever holds it.
  br: small((body) =>
    brotliCompressSync(body, {
      chunkSize: body.length + maxOverhead,
      params: { ...brotli, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  ),
};

function small(change: (body: Buffer) => Buffer): WholeStage {
  return { maxBytes: maxSmallBytes, change };
}

const streaming: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => createGzip({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createDeflate({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ params: brotliStream, flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdCompress({ params: zstdStream, flush: constants.ZSTD_e_flush }),
};
