import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shareOf, sharesOf } from "./share.ts";

describe("an edge's part of a limit", () => {
  it("an edge's part of a limit is all of it if there is one edge", () => {
    assert.equal(shareOf(1000, 1), 1000);
    assert.deepEqual(sharesOf({ most: 10, other: 7 }, ["most"], 1), { most: 10, other: 7 });
  });

  it("an edge's part of a limit is slightly more than even, and in total at most a quarter above it plus one for each", () => {
    for (const edges of [2, 3, 15, 64]) {
      for (const limit of [1, 60, 1000, 20_000]) {
        const part = shareOf(limit, edges);
        assert.ok(part >= 1 && part * edges >= limit && part * edges <= limit * 1.25 + edges, `${limit} over ${edges}`);
      }
    }
    assert.deepEqual(sharesOf({ most: 10, other: 7 }, ["most"], 2), { most: 7, other: 7 });
  });
});
