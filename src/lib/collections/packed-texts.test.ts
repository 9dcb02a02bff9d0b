import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, it } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { seededRandom } from "../../../test/support/random.ts";
import { Digests } from "./digests.ts";
import { PackedTexts } from "./packed-texts.ts";

const alphabet = ["a", "Ω", "€", "😀", "\0", '"', "\u2028"];

describe("packed texts", () => {
  it("packed texts return the stored texts after any other changes", () => {
    const random = seededRandom(7);
    const texts = new PackedTexts();
    const held = new Map<number, string>();
    const free: number[] = [];
    for (let step = 0; step < 40_000; step += 1) {
      if (held.size > 0 && random() < 0.45) {
        const number = random.pick([...held.keys()].slice(0, 50));
        texts.drop(number);
        held.delete(number);
        free.push(number);
        continue;
      }
      const number = free.pop() ?? held.size;
      // One in a thousand is too long for a page of normal size.
      const length = random() < 0.001 ? 1_500_000 : 1 + random.below(900);
      const text = `id${step} ${random.pick(alphabet).repeat(length)}`;
      const bytes = Buffer.from(`"${text}"`);
      if (random() < 0.5) texts.put(number, text);
      else texts.putBytes(number, bytes, 1, bytes.length - 1);
      held.set(number, text);
      if (step % 97 === 0) assert.equal(texts.read(number), text);
    }
    for (const [number, text] of held) {
      assert.ok(texts.read(number) === text, `text ${number}`);
      const bytes = Buffer.alloc(texts.lengthOf(number) + 1);
      assert.equal(texts.copy(number, bytes, 1), bytes.length);
      assert.ok(bytes.toString("utf8", 1) === text, `bytes of text ${number}`);
      assert.equal(texts.begins(number, text.slice(0, text.indexOf(" ") + 1)), true);
      assert.equal(texts.begins(number, `${text.slice(0, text.indexOf(" "))}0 `), false);
    }
  });

  it("packed texts that change again and again take at most twice their own size", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const before = process.memoryUsage().arrayBuffers;
    const texts = new PackedTexts();
    const count = 10_000;
    const text = "x".repeat(1_000);
    for (let number = 0; number < count; number += 1) texts.put(number, text);
    for (let round = 0; round < 20; round += 1) {
      // An order in which no page becomes empty without compaction.
      for (let at = 0; at < count; at += 1) {
        const number = (at * 7919) % count;
        texts.drop(number);
        texts.put(number, text);
      }
    }
    // Collected memory is freed a little later.
    await eventually(
      () => {
        collect();
        return process.memoryUsage().arrayBuffers - before;
      },
      (taken) => taken < 2 * count * text.length + 4 * 1024 * 1024,
    );
    assert.equal(texts.read(count - 1), text);
  });
});

describe("digests", () => {
  it("digests return the values added under a key, and none that were removed", () => {
    const random = seededRandom(11);
    const digests = new Digests();
    const held = new Map<string, number[]>();
    for (let step = 0; step < 30_000; step += 1) {
      const key = `${random.pick(alphabet).repeat(random.below(5))}${random.below(3_000)}`;
      const values = held.get(key) ?? [];
      held.set(key, values);
      const [gone] = random() < 0.5 ? values.splice(random.below(values.length), 1) : [];
      if (gone !== undefined) digests.remove(key, gone);
      else {
        values.push(step);
        const bytes = Buffer.from(`"${key}"`);
        if (random() < 0.5) digests.add(key, step);
        else digests.addBytes(bytes, 1, bytes.length - 1, step);
      }
    }
    for (const [key, values] of held) {
      const found = digests.candidates(key);
      for (const value of values) assert.ok(found.includes(value), key);
      // With 32 bits, values of other keys almost never match.
      assert.ok(found.length <= values.length + 1, key);
    }
    digests.remove("nobody's", 1);
    assert.deepEqual(digests.candidates("nobody's"), []);
  });

  it("digests of keys that differ only beyond the hashed length are distinguished by their callers", () => {
    const digests = new Digests();
    const [one, other] = ["a", "b"].map((end) => "€".repeat(3_000) + end) as [string, string];
    digests.add(one, 1);
    digests.add(other, 2);
    assert.deepEqual(new Set(digests.candidates(one)), new Set([1, 2]));
    digests.remove(one, 1);
    assert.deepEqual(digests.candidates(other), [2]);
    // Four bytes at a time would end within a character.
    const third = Buffer.from(`x${"€".repeat(3_000)}`);
    digests.addBytes(third, 0, third.length, 3);
    assert.deepEqual(digests.candidates(third.toString()), [3]);
  });
});
