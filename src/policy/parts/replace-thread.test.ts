/**
 * The thread that searches long texts may hang or crash. Then its text fails, its rule is rejected, and other texts
 * continue.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { compilePattern } from "../../cel/values/regex.ts";
import { logFailuresTo } from "../../lib/boundary.ts";
import { ReplaceThread } from "./replace-thread.ts";
import { ReplaceFault } from "./replacing.ts";
import type { TextReplacement } from "./replacing.ts";

const program = new URL("../../../test/support/hanging-replace-worker.ts", import.meta.url);

function rule(pattern: string): readonly TextReplacement[] {
  const compiled = compilePattern(pattern);
  if (typeof compiled === "string") throw new Error(compiled);
  return [{ pattern: compiled, to: { parts: ["b"] } as never }];
}

function setUp() {
  const logged: Readonly<Record<string, unknown>>[] = [];
  logFailuresTo({ error: (_event, fields) => logged.push(fields) });
  const clock = makeManualClock();
  const thread = new ReplaceThread({ program, clock });
  const search = (text: string, replacements = rule("a"), owner = "ac_1") =>
    thread.replace({ text, replacements, maxLength: 100, owner });
  const said = async (found: ReturnType<typeof search>): Promise<string> => {
    const outcome = await found;
    return outcome instanceof ReplaceFault ? `fault: ${outcome.message}` : outcome.content;
  };
  return { logged, clock, search, said };
}

describe("the thread that searches texts", { timeout: 60_000 }, () => {
  it("D9: the search thread is terminated when it hangs, with its stack in the log, and its rule is rejected until it changes", async (context) => {
    const { logged, clock, search, said } = setUp();
    assert.equal(await said(search("one")), "searched one");
    const folder = mkdtempSync(join(tmpdir(), "postern-hang-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const reached = join(folder, "reached");
    const hangs = search(`hang ${reached}`);
    const behind = search("two", rule("c"), "ac_2");
    await eventually(() => existsSync(reached), Boolean);
    clock.pass(20_000);
    assert.match(await said(hangs), /^fault: the search thread stopped unexpectedly/);
    assert.equal(await said(behind), "searched two", "another rule is served by another thread");
    assert.match(String(logged[0]?.["stack"]), /^neverEnds \(.*hanging-replace-worker/);
    const again = await search("one");
    assert.ok(again instanceof ReplaceFault && again.isFinal, "its rule fails closed");
    assert.match(again.message, /blocked the search thread.*change/);
    assert.equal(await said(search("one", rule("aa"))), "searched one", "the rule was changed");
    assert.equal(await said(search("one", rule("a"), "ac_2")), "searched one", "the rule of another account");
  });

  it("D9: the search thread restarts after a crash, and the rule is tried again", async () => {
    const { search, said } = setUp();
    assert.match(await said(search("die")), /^fault: the search thread stopped unexpectedly/);
    assert.equal(await said(search("one")), "searched one");
  });
});
