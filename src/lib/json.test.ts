import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonIssue, maxJsonDepth, parseJsonObject } from "./json.ts";

const read = (text: string): unknown => parseJsonObject(Buffer.from(text));

test("an object has the same value as with JSON.parse", () => {
  for (const text of ["{}", '{"a":[1,{"b":"\\"}{"}],"c":{"a":null}}', ' {"a\\u0062":"\\\\","b":"\\ud800"} ']) {
    assert.deepEqual(read(text), JSON.parse(text));
  }
});

test("P2: a name that appears twice in one object is rejected, even if it is escaped differently", () => {
  for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"x":[{"a":1,"b":{},"a":2}]}', '{"":1,"":2}']) {
    assert.throws(() => read(text), JsonIssue);
  }
  assert.deepEqual(read('{"a":{"a":1},"b":[{"a":1},{"a":2}]}'), { a: { a: 1 }, b: [{ a: 1 }, { a: 2 }] });
});

test("P2: __proto__ is rejected, and constructor is an ordinary name", () => {
  assert.throws(() => read('{"__proto__":{"admin":true}}'), JsonIssue);
  assert.throws(() => read('{"a":[{"__pr\\u006fto__":1}]}'), JsonIssue);
  assert.ok(Object.hasOwn(read('{"constructor":1}') as object, "constructor"));
});

test("P2: nesting is limited to 32", () => {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  assert.ok(read(nested(maxJsonDepth)));
  assert.throws(() => read(nested(maxJsonDepth + 1)), /deeper than 32/);
  assert.throws(() => read(`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`), JsonIssue);
});

test("text that is not one JSON object in UTF-8 is rejected without repeating it", () => {
  const bad = [
    "",
    " ",
    "null",
    "[]",
    '"a"',
    "1",
    "{",
    "{}{}",
    "{'a':1}",
    '{"a":01}',
    '{"a":NaN}',
    "\ufeff{}",
    '{"a":1,}',
  ];
  for (const text of bad) assert.throws(() => read(text), JsonIssue, text);
  for (const bytes of [
    [0x7b, 0xff, 0x7d],
    [0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d],
    [0x7b, 0x22, 0xed, 0xa0, 0x80],
  ]) {
    assert.throws(() => parseJsonObject(Uint8Array.from(bytes)), /UTF-8/);
  }
  assert.throws(
    () => read('{"secret": hunter2'),
    (error: Error) => !error.message.includes("hunter2"),
  );
});
