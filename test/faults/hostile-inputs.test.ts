/** Inputs that almost follow a protocol: none throws out of its visitor, and none costs more than its bytes are worth. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";

describe("an edge that gets hostile inputs", { timeout: 600_000 }, () => {
  it("D2: no input of any protocol, policy or expression escapes its visitor or exceeds its bound of work per byte", async () => {
    const { lines, stalledAt, code, stderr } = await runHarness("hostile-inputs.ts", ["--inputs", "40"]);
    const harmful = lines.filter((line) => "input" in line);
    assert.deepEqual({ harmful, stalledAt }, { harmful: [], stalledAt: undefined }, stderr);
    assert.equal(code, 0, stderr);
    assert.deepEqual(lines.at(-1), { alive: true, escaped: 0 });
    assert.equal(lines.filter((line) => "bytesSent" in line).length, 14, "all families");
  });
});
