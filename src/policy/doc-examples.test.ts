/** Checks that every policy in the documentation compiles without warnings. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { docExamples } from "../../test/support/policy-examples.ts";
import { compilePolicy } from "./compile-policy.ts";

describe("policies in the documentation", () => {
  const examples = docExamples();

  it("policies in the documentation are found", () => assert.ok(examples.length >= 6, `${examples.length} found`));

  for (const { where, text, layer } of examples) {
    it(`policies in the documentation compile: ${where}`, () => {
      const { issues, warnings } = compilePolicy(text, layer);
      assert.deepEqual([issues, warnings], [[], []]);
    });
  }
});
