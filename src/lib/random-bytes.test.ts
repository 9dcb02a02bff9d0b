import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takeRandomBytes } from "./random-bytes.ts";

describe("random bytes", () => {
  it("random bytes are never returned twice, nor are the wiped ones", () => {
    const pieces = Array.from({ length: 2_000 }, (_, at) => takeRandomBytes(12 + (at % 21)).toString("hex"));
    assert.equal(new Set(pieces.map((piece) => piece.slice(0, 24))).size, pieces.length);
    for (const piece of pieces) assert.doesNotMatch(piece, /(?:00){8}/);
  });

  it("random bytes have the requested length, up to the maximum of one call", () => {
    assert.deepEqual(
      [1, 4095, 4096].map((length) => takeRandomBytes(length).length),
      [1, 4095, 4096],
    );
    assert.throws(() => takeRandomBytes(4097), /4096 at once/);
  });
});
