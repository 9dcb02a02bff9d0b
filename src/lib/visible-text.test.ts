import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toVisibleLine, toVisibleLines, toVisibleText } from "./visible-text.ts";

describe("untrusted text", () => {
  for (const [what, given, line, text] of [
    ["a colour", "\u001b[31mred", "\\u001b[31mred", "\\u001b[31mred"],
    ["a title", "\u001b]0;owned\u0007", "\\u001b]0;owned\\u0007", "\\u001b]0;owned\\u0007"],
    ["an 8-bit command", "\u009b31m", "\\u009b31m", "\\u009b31m"],
    ["another line", "one\ntwo\r\n", "one\\ntwo\\r\\n", "one\ntwo\r\n"],
    ["a line over the one before", "one\rtwo", "one\\rtwo", "one\\rtwo"],
    ["a direction of writing", "a\u202eb\u2066c", "a\\u202eb\\u2066c", "a\\u202eb\\u2066c"],
    ["a line separator", "a\u2028b", "a\\u2028b", "a\\u2028b"],
    ["signs that are not seen", "a\u200b\u{e0041}", "a\\u200b\\udb40\\udc41", "a\\u200b\\udb40\\udc41"],
    ["an emoji of several, and Persian", "👩‍💻 می‌خواهم", "👩‍💻 می‌خواهم", "👩‍💻 می‌خواهم"],
  ] as const) {
    it(`untrusted text is displayed and not interpreted: ${what}`, () => {
      assert.equal(toVisibleLine(given), line);
      assert.equal(toVisibleText(given), text);
      // In JSON it is the same value.
      assert.equal(JSON.parse(toVisibleText(JSON.stringify(given))), given);
    });
  }

  it("untrusted text is a single line anywhere in a value, including names", () => {
    assert.deepEqual(toVisibleLines({ "a\n": ["b\u001b", { c: 1, d: null }] }), {
      "a\\n": ["b\\u001b", { c: 1, d: null }],
    });
  });
});
