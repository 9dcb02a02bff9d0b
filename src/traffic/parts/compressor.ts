import { Transform } from "node:stream";
import type { TransformCallback } from "node:stream";
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
import type { Coding } from "./accept-encoding.ts";

/** Up to here one synchronous call costs less than a trip to the thread pool. */
const maxSmallBytes = 16 * 1024;
const gzipLevel = 5;
const brotliQuality = 4;
const zstdLevel = 3;

/**
 * A stage that compresses a body. Without a small known length everything that goes in comes out at once, so
 * that event streams are never held up. @param length of the body in bytes, undefined when unknown
 */
export function compressor(coding: Coding, length: number | undefined): Transform {
  return length !== undefined && length <= maxSmallBytes ? new WholeBody(coding) : streaming[coding]();
}

/** Collects a small body and compresses it in one call. */
class WholeBody extends Transform {
  readonly #coding: Coding;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(coding: Coding) {
    super();
    this.#coding = coding;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    // The edge holds upstreams to their Content-Length; this only bounds what a fault in that could cost.
    done(this.#bytes > maxSmallBytes ? new Error(`compress a body: it is longer than announced`) : null);
  }

  override _flush(done: TransformCallback): void {
    done(
      null,
      whole[this.#coding](this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)),
    );
  }
}

/** Base 2 logarithm of bytes: a stream of unknown length costs its window, and filling its tables is the first delay. */
const streamWindow = 18;

const brotli = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
const brotliStream = { ...brotli, [constants.BROTLI_PARAM_LGWIN]: streamWindow };
const zstd = { [constants.ZSTD_c_compressionLevel]: zstdLevel };
const zstdStream = { ...zstd, [constants.ZSTD_c_windowLog]: streamWindow };

const whole: Readonly<Record<Coding, (body: Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body, { level: gzipLevel }),
  deflate: (body) => deflateSync(body, { level: gzipLevel }),
  br: (body) => brotliCompressSync(body, { params: { ...brotli, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }),
  zstd: (body) => zstdCompressSync(body, { params: zstd }),
};

const streaming: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => createGzip({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createDeflate({ level: gzipLevel, flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ params: brotliStream, flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdCompress({ params: zstdStream, flush: constants.ZSTD_e_flush }),
};
