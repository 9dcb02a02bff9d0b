import assert from "node:assert/strict";
import { it } from "node:test";
import { seededRandom } from "../../../test/support/random.ts";
import { LargestFirst } from "./largest-first.ts";

it("the largest of many keys is found after any change of sizes", () => {
  const random = seededRandom(3);
  const kept = new LargestFirst<number>();
  const sizes = new Map<number, number>();
  for (let step = 0; step < 5_000; step += 1) {
    const key = Math.floor(random() * 50);
    const size = Math.floor(random() * 20);
    kept.set(key, size);
    sizes.set(key, size);
    const most = Math.max(...sizes.values());
    const { largest } = kept;
    assert.equal(largest === undefined ? 0 : sizes.get(largest), most);
  }
});
