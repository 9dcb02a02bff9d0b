import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Lru } from "./lru.ts";

describe("a map with a maximum size", () => {
  it("a map with a maximum size removes the least recently used entry", () => {
    const kept = new Lru<string, number>(3);
    for (const [key, value] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ] as const) {
      kept.set(key, value);
    }
    assert.equal(kept.get("a"), 1);
    kept.set("b", 20);
    kept.set("d", 4);
    assert.equal(kept.get("c"), undefined);
    assert.deepEqual(
      [...kept.entries()],
      [
        ["a", 1],
        ["b", 20],
        ["d", 4],
      ],
    );
    assert.equal(kept.size, 3);
  });

  it("a map with a maximum size forgets deleted entries, at any position in the order of use", () => {
    for (const gone of ["a", "b", "c"]) {
      const kept = new Lru<string, string>(3);
      for (const key of ["a", "b", "c"]) kept.set(key, key);
      kept.delete(gone);
      kept.delete("of old");
      assert.equal(kept.get(gone), undefined);
      const left = ["a", "b", "c"].filter((key) => key !== gone);
      assert.deepEqual(
        [...kept.entries()].map(([key]) => key),
        left,
      );
      for (const key of ["d", "e"]) kept.set(key, key);
      assert.deepEqual(
        [...kept.entries()].map(([key]) => key),
        [...left.slice(1), "d", "e"],
      );
    }
  });

  it("a map with a maximum size behaves like a plain list of keys, in any order of operations", () => {
    const kept = new Lru<number, number>(5);
    let model: number[] = [];
    for (let step = 0; step < 5000; step += 1) {
      const key = Math.floor(Math.random() * 9);
      const has = model.includes(key);
      const others = model.filter((one) => one !== key);
      switch (step % 3) {
        case 0:
          kept.set(key, -key);
          model = [...others, key].slice(-5);
          break;
        case 1:
          assert.equal(kept.get(key), has ? -key : undefined);
          if (has) model = [...others, key];
          break;
        default:
          if (step % 6 === 2) continue;
          kept.delete(key);
          model = others;
      }
      assert.deepEqual(
        [...kept.entries()].map(([one]) => one),
        model,
      );
    }
  });
});
