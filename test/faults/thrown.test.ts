/** A function that throws while it serves a visitor ends that visitor's exchange or connection, and nothing else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";

describe("an edge whose functions throw", { timeout: 600_000 }, () => {
  it("D2: every function on the way of a request can throw once: its visitor gets an end, and the next are served", async () => {
    const { lines, stalledAt, code, stderr } = await runHarness("throw-everywhere.ts", []);
    const harmful = lines.filter((line) => "escaped" in line && "visit" in line);
    assert.deepEqual({ harmful, stalledAt }, { harmful: [], stalledAt: undefined }, stderr);
    assert.equal(code, 0, stderr);
    const counts = lines.at(-1) as { readonly functions: number; readonly thrown: number };
    assert.ok(counts.functions > 700, "the visits use most of the edge");
    assert.ok(counts.thrown > counts.functions * 0.9, JSON.stringify(counts));
  });
});
