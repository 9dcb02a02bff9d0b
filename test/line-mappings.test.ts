import assert from "node:assert/strict";
import { SourceMap } from "node:module";
import { it } from "node:test";
import { lineMappings } from "../scripts/release/line-mappings.ts";

/** A map of two generated lines: words of lines 0 and 1 of one source, and of line 40 of another, which is before. */
const mappings = "AAAA,IAAK,IACA,KAAI,OCuCF;AAxCA,IAAI,IDDJ";

it("a thinned source map finds the same source and line at every position", () => {
  const map = {
    version: 3,
    file: "b.js",
    sources: ["one.ts", "two.ts"],
    sourcesContent: [],
    names: [],
    sourceRoot: "",
  };
  const whole = new SourceMap({ ...map, mappings });
  const thin = new SourceMap({ ...map, mappings: lineMappings(mappings) });
  for (const line of [0, 1]) {
    for (let column = 0; column < 30; column += 1) {
      const [before, after] = [whole.findEntry(line, column), thin.findEntry(line, column)];
      assert.ok("originalSource" in before && "originalSource" in after);
      assert.deepEqual(
        [after.originalSource, after.originalLine],
        [before.originalSource, before.originalLine],
        `${line}:${column}`,
      );
    }
  }
  assert.ok(lineMappings(mappings).length < mappings.length);
});
