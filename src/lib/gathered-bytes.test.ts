import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectGarbage } from "../../test/support/garbage.ts";
import { seededRandom } from "../../test/support/random.ts";
import { GatheredBytes } from "./gathered-bytes.ts";

describe("gathered bytes", () => {
  it("gathered bytes are returned unchanged, in pieces, in parts and as a whole", () => {
    const random = seededRandom(11);
    for (let round = 0; round < 300; round += 1) {
      const gathered = new GatheredBytes();
      let expected = Buffer.alloc(0);
      for (let step = 0; step < 30; step += 1) {
        const bytes = Buffer.from(
          Array.from({ length: random.pick([0, 1, 3, 500, 4095, 4096, 5000]) }, () => random.below(256)),
        );
        gathered.add(bytes);
        expected = Buffer.concat([expected, bytes]);
        if (random.below(4) === 0) {
          const taken = gathered.takeFirst(random.pick([1, 100, 3000]));
          assert.deepEqual(taken, expected.subarray(0, taken.length));
          expected = expected.subarray(taken.length);
        }
        if (random.below(8) === 0) assert.deepEqual(gathered.join(), expected);
        assert.equal(gathered.length, expected.length);
      }
      assert.deepEqual(Buffer.concat(gathered.take()), expected);
      assert.deepEqual([gathered.length, gathered.take().length, gathered.join().length], [0, 0, 0]);
    }
  });

  it("D3: gathered bytes do not keep the block of a small piece in memory", () => {
    const block = Buffer.alloc(64 * 1024, "a");
    const gathered = new GatheredBytes();
    gathered.add(block.subarray(5, 6));
    assert.notEqual(gathered.join().buffer, block.buffer);
    gathered.add(block.subarray(6, 4000));
    assert.ok(gathered.take().every(({ buffer }) => buffer !== block.buffer));
  });

  it("D3: gathered bytes take less than three times their length, however small their pieces are", () => {
    for (const size of [1, 16, 255, 4095]) {
      const gathered = new GatheredBytes();
      collectGarbage();
      const before = memory();
      for (let length = 0; length < 1024 * 1024; length += size) gathered.add(Buffer.alloc(size));
      collectGarbage();
      const taken = memory() - before;
      assert.ok(taken < 3 * 1024 * 1024, `${taken} bytes in pieces of ${size}`);
      assert.ok(gathered.length >= 1024 * 1024);
    }
  });
});

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
