import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { readInPieces } from "./read-in-pieces.ts";

/** The lengths that a reader is given who takes all that is there, and the bytes put together. */
function readAll(stream: Readable): { readonly lengths: readonly number[]; readonly bytes: Buffer } {
  const pieces: Buffer[] = [];
  for (let piece = stream.read() as Buffer | null; piece !== null; piece = stream.read() as Buffer | null) {
    pieces.push(piece);
  }
  return { lengths: pieces.map(({ length }) => length), bytes: Buffer.concat(pieces) };
}

/** A paused stream to which `bytes` were put back, and nothing more comes. */
function holding(bytes: Buffer): Readable {
  const stream = new Readable({ read() {} });
  stream.unshift(bytes);
  return stream;
}

describe("reading in pieces", () => {
  it("what was put back is read in pieces, in order and whole", () => {
    const bytes = Buffer.from(Array.from({ length: 2500 }, (_, at) => at % 251));
    const stream = holding(bytes);
    readInPieces(stream, 1023);
    const all = readAll(stream);
    assert.deepEqual(all.lengths, [1023, 1023, 454]);
    assert.deepEqual(all.bytes, bytes);
  });

  it("what is no more than a piece is read at once, by the stream's own way", () => {
    const stream = holding(Buffer.alloc(1023));
    const { read } = stream;
    readInPieces(stream, 1023);
    assert.equal(stream.read, read);
    assert.deepEqual(readAll(stream).lengths, [1023]);
  });

  it("who asks for a size is given that size", () => {
    const stream = holding(Buffer.alloc(2500));
    readInPieces(stream, 1023);
    assert.equal((stream.read(2000) as Buffer).length, 2000);
    assert.deepEqual(readAll(stream).lengths, [500]);
  });
});
