import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../test/support/random.ts";
import { formatTimestamp } from "../clock.ts";
import { ValuePlaces, findValues } from "./list-bytes.ts";
import { isThere, numberInBytes, timeInBytes, viewOf } from "./value-bytes.ts";

const most = 4;

/** Returns the first values in their written form; undefined if they cannot be determined. */
function found(list: string, before = "", after = ""): readonly string[] | undefined {
  const bytes = Buffer.from(before + list + after);
  const start = Buffer.byteLength(before);
  const places = new ValuePlaces(most);
  const count = findValues(bytes, start, start + Buffer.byteLength(list), places);
  if (count < 0) return undefined;
  return Array.from({ length: count }, (_value, at) => {
    const text = bytes.toString("utf8", places.start(at), places.end(at));
    const isRepeated = places.isRepeated(bytes, at);
    const before = Array.from({ length: at }, (_one, other) =>
      bytes.toString("utf8", places.start(other), places.end(other)),
    );
    assert.equal(isRepeated, before.includes(text));
    return places.isText(bytes, at) ? `"${text}"` : text;
  });
}

describe("values of lists in bytes", () => {
  it("values of lists in bytes match those of a JSON parser, in any context", () => {
    const random = seededRandom(5);
    const pool = ["", "a", "Grüße 😀", "[", "}", ",", "null", 0, 17, -1.5e30, true, null, {}, { a: "x]", b: null }];
    for (let round = 0; round < 5_000; round += 1) {
      const values = Array.from({ length: random.below(7) }, () => random.pick(pool));
      const read = values.slice(0, most).map((value) => JSON.stringify(value));
      assert.deepEqual(
        found(JSON.stringify(values), random.pick(["", "ä", '0 "']), random.pick(["", "\n", "]"])),
        read,
      );
    }
  });

  it("values of lists in bytes need a JSON parser if they are lists, or have escapes", () => {
    for (const value of ['"', "\\", "\n", ["a"], { a: [] }, { a: {} }, { a: '"' }]) {
      assert.equal(found(JSON.stringify([value, 1])), undefined, JSON.stringify(value));
      assert.deepEqual(found(JSON.stringify([1, 2, 3, 4, value])), ["1", "2", "3", "4"]);
    }
  });

  it("values of lists in bytes are not read beyond the end of a truncated list", () => {
    const list = JSON.stringify(["ab", 12, { a: "b" }, "c"]);
    for (let length = 0; length < list.length; length += 1) {
      const values = found(list.slice(0, length), "", ',"of another"]');
      assert.ok(values === undefined || length === list.length - 1, list.slice(0, length));
    }
    assert.equal(found('{"a":1}'), undefined);
  });
});

describe("sequences of bytes", () => {
  it("sequences of bytes are found at each of their positions, and nowhere else", () => {
    const text = "0123456789abcdef";
    const bytes = viewOf(Buffer.from(`xx${text}yy`).subarray(1));
    for (let length = 0; length <= text.length; length += 1) {
      const expected = Buffer.from(text.slice(0, length));
      assert.equal(isThere(viewOf(expected), bytes, 1), true);
      for (let at = 0; at < length; at += 1) {
        const other = Buffer.from(expected);
        other[at] = 0xff;
        assert.equal(isThere(viewOf(other), bytes, 1), false, `${length}, ${at}`);
      }
    }
    assert.equal(isThere(viewOf(Buffer.from("yy!")), bytes, bytes.byteLength - 2), false);
  });
});

describe("numbers and times in bytes", () => {
  it("numbers and times in bytes have the written value, or none", () => {
    const read = (text: string): readonly number[] => {
      const bytes = Buffer.from(`9${text}9`);
      return [numberInBytes(bytes, 1, bytes.length - 1), timeInBytes(bytes, 1, bytes.length - 1)];
    };
    assert.deepEqual(read("1795433254940"), [1_795_433_254_940, NaN]);
    for (const none of ["", "-1", "1.5", "1e3", "null"]) assert.deepEqual(read(none), [NaN, NaN], none);
    for (const time of ["1970-01-01T00:00:00Z", "2026-11-23T11:27:34Z", "2028-02-29T23:59:59Z"]) {
      assert.deepEqual(read(time), [NaN, Date.parse(time)]);
    }
    for (let day = -200_000; day < 200_000; day += 37) {
      const time = formatTimestamp(day * 86_400_000);
      assert.deepEqual(read(time), [NaN, Date.parse(time)], time);
    }
    assert.deepEqual(read("2026-11-2xT11:27:34Z"), [NaN, NaN]);
  });
});
