/** A function that throws while it serves a visitor ends only that visitor's exchange or connection. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";

/** All functions take minutes, so each day tests a part of them. test/README.md describes how to run all of them. */
const parts = 4;
const part = Math.floor(Date.now() / 86_400_000) % parts;

describe("an edge whose functions throw", { timeout: 600_000 }, () => {
  it("D2: a function that throws once during a request ends only that request, and the next visitors are served", async () => {
    const { lines, stalledAt, code, stderr } = await runHarness("throw-everywhere.ts", ["--part", `${part}/${parts}`]);
    const harmful = lines.filter((line) => "escaped" in line && "visit" in line);
    assert.deepEqual({ harmful, stalledAt }, { harmful: [], stalledAt: undefined }, stderr);
    assert.equal(code, 0, stderr);
    const counts = lines.at(-1) as { readonly functions: number; readonly tried: number; readonly thrown: number };
    assert.ok(counts.functions > 700, "the visits use most of the edge");
    assert.ok(counts.thrown > counts.tried * 0.85, JSON.stringify(counts));
  });
});
