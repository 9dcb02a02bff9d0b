import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chance } from "./random-bytes.ts";

describe("chance", () => {
  it("chance is never given out twice, nor the bytes that were wiped", () => {
    const pieces = Array.from({ length: 2_000 }, (_, at) => chance(12 + (at % 21)).toString("hex"));
    assert.equal(new Set(pieces.map((piece) => piece.slice(0, 24))).size, pieces.length);
    for (const piece of pieces) assert.doesNotMatch(piece, /(?:00){8}/);
  });

  it("chance is as long as was asked for, and no longer than there is at once", () => {
    assert.deepEqual(
      [1, 4095, 4096].map((length) => chance(length).length),
      [1, 4095, 4096],
    );
    assert.throws(() => chance(4097), /4096 at once/);
  });
});
