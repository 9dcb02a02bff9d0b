/** Hostile visitors of every kind beside honest ones. Nothing dies, and every honest request gets a response. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";

interface Half {
  readonly requests: number;
  readonly failed: number;
}

describe("an edge with hostile visitors", () => {
  it(
    "D2: an edge with hostile visitors of every kind answers all honest ones, with logins, policies and every module",
    { timeout: 600_000 },
    async () => {
      const { lines, stalledAt, code, stderr } = await runHarness("hostile-beside-honest.ts", [
        "--seconds",
        "16",
        "--full-priority",
      ]);
      assert.deepEqual({ code, stalledAt }, { code: 0, stalledAt: undefined }, stderr);
      const { alone, beside, failures, escaped, hostile } = lines.at(-1) as {
        readonly alone: Half;
        readonly beside: Half;
        readonly failures: readonly string[];
        readonly escaped: readonly string[];
        readonly hostile: object;
      };
      assert.deepEqual({ failures, escaped }, { failures: [], escaped: [] });
      assert.ok(alone.requests > 0 && beside.requests > 0);
      assert.equal(alone.failed + beside.failed, 0);
      assert.equal(Object.keys(hostile).length, 15, "all families");
    },
  );
});
