import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { readInPieces } from "./read-in-pieces.ts";

/** Reads everything available. Returns the lengths of the reads and the joined bytes. */
function readAll(stream: Readable): { readonly lengths: readonly number[]; readonly bytes: Buffer } {
  const pieces: Buffer[] = [];
  for (let piece = stream.read() as Buffer | null; piece !== null; piece = stream.read() as Buffer | null) {
    pieces.push(piece);
  }
  return { lengths: pieces.map(({ length }) => length), bytes: Buffer.concat(pieces) };
}

/** Returns a paused stream to which `bytes` were put back, without further input. */
function holding(bytes: Buffer): Readable {
  const stream = new Readable({ read() {} });
  stream.unshift(bytes);
  return stream;
}

describe("reading in pieces", () => {
  it("returned bytes are read in pieces, complete and in order", () => {
    const bytes = Buffer.from(Array.from({ length: 2500 }, (_, at) => at % 251));
    const stream = holding(bytes);
    readInPieces(stream, 1023);
    const all = readAll(stream);
    assert.deepEqual(all.lengths, [1023, 1023, 454]);
    assert.deepEqual(all.bytes, bytes);
  });

  it("bytes up to one piece are read with the stream's own method", () => {
    const stream = holding(Buffer.alloc(1023));
    const { read } = stream;
    readInPieces(stream, 1023);
    assert.equal(stream.read, read);
    assert.deepEqual(readAll(stream).lengths, [1023]);
  });

  it("reads with an explicit size return that size", () => {
    const stream = holding(Buffer.alloc(2500));
    readInPieces(stream, 1023);
    assert.equal((stream.read(2000) as Buffer).length, 2000);
    assert.deepEqual(readAll(stream).lengths, [500]);
  });
});
