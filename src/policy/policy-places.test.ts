import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePolicy } from "./compile-policy.ts";
import { policyPlaces } from "./policy-places.ts";

/** Returns the place of the first error, and the text there. */
function found(text: string): readonly [line: number, column: number, what: string] {
  const [issue] = compilePolicy(text, "http").issues;
  assert.ok(issue);
  const { line, column } = policyPlaces(text)(issue);
  const what = Array.from(text.split("\n")[line - 1] ?? "").slice(column - 1);
  return [line, column, what.slice(0, 4).join("")];
}

const rule = (expression: string): string =>
  `on_http_request:\n  - expressions:\n      - ${expression}\n    actions: [{ type: deny }]\n`;

describe("places in policies", () => {
  it("places in policies match the document, in every style of writing an expression", () => {
    assert.deepEqual(found(rule("req.nope == 'a'")), [3, 9, "req."]);
    assert.deepEqual(found(rule("'''a'' == ''b'' || nope'")), [3, 28, "nope"]);
    assert.deepEqual(found(rule(String.raw`"\"\u00e4\" == 'b' || nope"`)), [3, 31, "nope"]);
    assert.deepEqual(found(rule("\"'😀' == 'b' || nope\"")), [3, 24, "nope"]);
    assert.deepEqual(found(rule("|\n        true ||\n        nope")), [5, 9, "nope"]);
  });

  it("places in policies of other errors point to the enclosing element, and of unreadable text to its end", () => {
    assert.deepEqual(found("on_http_request:\n  - actions:\n      - type: nope\n").slice(0, 1), [3]);
    assert.deepEqual(found("on_http_request: [\n").slice(0, 1), [2]);
    assert.deepEqual(found("nope: []\n").slice(0, 2), [1, 7]);
  });
});
