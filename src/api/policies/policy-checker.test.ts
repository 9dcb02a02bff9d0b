import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { keepingLog } from "../../../test/storage/fixture.ts";
import { Refusal } from "../../lib/errors.ts";
import type { PolicyCheck } from "./policy-checks.ts";
import { makePolicyChecker } from "./policy-checker.ts";

const file = new URL("../../../test/support/odd-policy-worker.ts", import.meta.url);
const checkOf = (text: string) => ({ text, layer: "http" }) as PolicyCheck;

describe("the thread that checks policies", () => {
  it("D9: the thread that checks policies is terminated if a check hangs, and the next check gets a new one", async () => {
    const clock = makeManualClock();
    const { log, lines } = keepingLog();
    const check = makePolicyChecker(clock, log, file);
    assert.equal(await check("ak_1", checkOf("first")), "checked first");
    const hangs = check("ak_1", checkOf("hangs"));
    const refused = assert.rejects(
      hangs,
      (error: unknown) =>
        error instanceof Refusal && error.reason === "work_too_long" && /longer than 10 s/.test(error.message),
    );
    clock.pass(10_000);
    await refused;
    const behind = check("ak_2", checkOf("behind"));
    // The thread has not answered for another second. It is terminated, and waiting checks are repeated.
    clock.pass(1_000);
    const isLogged = (text: RegExp): boolean => lines.some(({ event }) => text.test(event));
    while (!isLogged(/starting it again/)) await new Promise(setImmediate);
    assert.ok(isLogged(/hangs, ending it/));
    clock.pass(100);
    assert.equal(await behind, "checked behind");
  });
});
