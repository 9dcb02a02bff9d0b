import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FieldBlock } from "./field-block.ts";

describe("a block of header fields", () => {
  it("a block of header fields has its lines in wire format", () => {
    const block = new FieldBlock(["X-One", "a", "y", ""]);
    assert.equal(block.lines, "x-one: a\r\ny: \r\n");
    assert.deepEqual(block.fields, ["x-one", "a", "y", ""]);
  });

  it("P4: a block of header fields rejects a name or value that would break the message", () => {
    for (const value of ["a\r\nB: c", "a\nb", "a\0", "a\rb", " a", "a ", "a\u0100"]) {
      assert.throws(() => new FieldBlock(["x", value]), value);
    }
    for (const name of ["", "a b", "a:", "a\r\n", "é"]) assert.throws(() => new FieldBlock([name, "a"]), name);
    assert.throws(() => new FieldBlock(["x", "a", ""]));
  });
});
