/** Nearly valid inputs of each protocol. None throws outside its visitor, and none costs too much for its size. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";
import type { HarnessLine } from "../support/harness.ts";

/**
 * Runs one part of the harness and checks that nothing was harmed.
 * @returns its lines
 */
async function harmless(...args: readonly string[]): Promise<readonly HarnessLine[]> {
  const { lines, stalledAt, code, stderr } = await runHarness("hostile-inputs.ts", args);
  const harmful = lines.filter((line) => "input" in line);
  assert.deepEqual({ harmful, stalledAt }, { harmful: [], stalledAt: undefined }, stderr);
  assert.equal(code, 0, stderr);
  assert.deepEqual(lines.at(-1), { alive: true, escaped: 0 });
  return lines;
}

describe("an edge that gets hostile inputs", () => {
  it(
    "D2: no input of any protocol, policy or expression escapes its visitor or exceeds its limit of work per byte",
    { timeout: 600_000 },
    async () => {
      const lines = await harmless("--part", "families", "--inputs", "25");
      assert.equal(lines.filter((line) => "bytesSent" in line).length, 15, "all families");
    },
  );

  it("D2: no input that is twice as large costs much more than twice as much", { timeout: 600_000 }, async () => {
    const lines = await harmless("--part", "growth");
    assert.equal(lines.filter((line) => "usTwice" in line).length, 24, "all kinds of growth");
  });
});
