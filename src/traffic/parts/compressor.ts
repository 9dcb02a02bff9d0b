import type { Transform } from "node:stream";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import type { ZlibOptions } from "node:zlib";
import type { BodyStage, WholeStage } from "../body-stage.ts";
import type { Coding } from "./accept-encoding.ts";

/** Up to here one synchronous call costs less than a trip to the thread pool. */
const maxSmallBytes = 16 * 1024;
const gzipLevel = 5;
/** zlib's own bounds for its window, base 2 logarithm of bytes. */
const minWindowBits = 9;
const maxWindowBits = 15;
/** More than any coding adds to a small body that does not shrink, bytes; Node's least size of a piece. */
const maxOverhead = 64;
const brotliQuality = 4;
const zstdLevel = 3;

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
const zstd = { [constants.ZSTD_c_compressionLevel]: zstdLevel };
const zstdStream = { ...zstd, [constants.ZSTD_c_windowLog]: streamWindow };

const whole: Readonly<Record<Coding, WholeStage>> = {
  gzip: small((body) => gzipSync(body, sized(body))),
  deflate: small((body) => deflateSync(body, sized(body))),
  br: small((body) =>
    brotliCompressSync(body, {
      ...outputOf(body),
      params: { ...brotli, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  ),
  zstd: small((body) => zstdCompressSync(body, { ...outputOf(body), params: zstd, pledgedSrcSize: body.length })),
};

function small(change: (body: Buffer) => Buffer): WholeStage {
  return { maxBytes: maxSmallBytes, change };
}

/** zlib's window and tables, no larger than the body fills: clearing the usual 256 KiB costs more than the work. */
function sized(body: Buffer): ZlibOptions {
  const bits = Math.min(maxWindowBits, Math.max(minWindowBits, 33 - Math.clz32(body.length)));
  return { ...outputOf(body), level: gzipLevel, windowBits: bits, memLevel: bits - 7 };
}

/** The output in one piece. */
function outputOf(body: Buffer): { readonly chunkSize: number } {
  return { chunkSize: body.length + maxOverhead };
}

const streaming: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => createGzip({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createDeflate({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ params: brotliStream, flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdCompress({ params: zstdStream, flush: constants.ZSTD_e_flush }),
};
