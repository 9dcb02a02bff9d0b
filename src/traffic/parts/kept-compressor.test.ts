import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { keepDeflate, keepGzip, keepZstd } from "./kept-compressor.ts";

const maxBytes = 4096;

describe("reused compressors", () => {
  for (const [name, compress, expand] of [
    ["gzip", keepGzip(3, maxBytes), gunzipSync],
    ["deflate", keepDeflate(3, maxBytes), inflateSync],
    ["zstd", keepZstd(1, maxBytes), zstdDecompressSync],
  ] as const) {
    it(`${name}: bodies of every length survive a round trip, including incompressible ones`, () => {
      for (const length of [0, 1, 100, maxBytes]) {
        for (const body of [Buffer.alloc(length, "a"), randomBytes(length)]) {
          assert.deepEqual(expand(compress(body)), body);
        }
      }
    });

    it(`${name}: an output does not change when the next body is compressed`, () => {
      const first = compress(Buffer.from("the first"));
      compress(Buffer.from("another one"));
      assert.equal(expand(first).toString(), "the first");
    });

    it(`${name}: a body that fails does not affect the next one`, () => {
      assert.throws(() => compress(randomBytes(4 * maxBytes)), /^Error: compress a body: the compressor failed$/);
      assert.equal(expand(compress(Buffer.from("the next"))).toString(), "the next");
    });
  }
});
