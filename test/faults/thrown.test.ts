/** A function that throws while it serves a visitor ends that visitor's exchange or connection, and nothing else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHarness } from "../support/harness.ts";

/** All functions take minutes: each day has its part of them. See test/README.md for all of them by hand. */
const parts = 4;
const part = Math.floor(Date.now() / 86_400_000) % parts;

describe("an edge whose functions throw", { timeout: 600_000 }, () => {
  it("D2: a function on the way of a request throws once: its visitor gets an end, and the next visitors are served", async () => {
    const { lines, stalledAt, code, stderr } = await runHarness("throw-everywhere.ts", ["--part", `${part}/${parts}`]);
    const harmful = lines.filter((line) => "escaped" in line && "visit" in line);
    assert.deepEqual({ harmful, stalledAt }, { harmful: [], stalledAt: undefined }, stderr);
    assert.equal(code, 0, stderr);
    const counts = lines.at(-1) as { readonly functions: number; readonly tried: number; readonly thrown: number };
    assert.ok(counts.functions > 700, "the visits use most of the edge");
    assert.ok(counts.thrown > counts.tried * 0.85, JSON.stringify(counts));
  });
});
