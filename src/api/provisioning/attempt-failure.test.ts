import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AcmeProblem } from "../../acme/problem.ts";
import { failureOf, pauseMs } from "./attempt-failure.ts";

const minute = 60_000;
const hour = 60 * minute;

describe("pause after a failed attempt", () => {
  it("pause after a failed attempt doubles from a minute to half a day", () => {
    const whole = [1, 2, 3, 10, 11, 100].map((failures) => pauseMs(failures, undefined, () => 1));
    assert.deepEqual(whole, [minute, 2 * minute, 4 * minute, 512 * minute, 12 * hour, 12 * hour]);
  });

  it("pause after a failed attempt is a random share, from half to all", () => {
    assert.equal(
      pauseMs(2, undefined, () => 0),
      minute,
    );
    assert.equal(
      pauseMs(2, undefined, () => 0.5),
      1.5 * minute,
    );
  });

  it("pause after a failed attempt is never shorter than the authority asks for, up to a week", () => {
    assert.equal(
      pauseMs(1, 3 * hour, () => 1),
      3 * hour,
    );
    assert.equal(
      pauseMs(1, 1000 * hour, () => 1),
      7 * 24 * hour,
    );
  });
});

describe("domain status after a failure", () => {
  it("domain status after a failure contains the authority's problem, in its words", () => {
    const limited = new AcmeProblem("rateLimited", "order: too many certificates", { retryAfterMs: hour });
    const { code, message, retryAfterMs } = failureOf(limited);
    assert.deepEqual([code, message, retryAfterMs], ["RATE_LIMITED", "order: too many certificates", hour]);
    assert.equal(failureOf(new AcmeProblem("badCSR", "no")).code, "AUTHORITY_ERROR");
  });

  it("the message of an internal fault is in the log, and not in the domain's status", () => {
    const failure = failureOf(new Error("secret of the machine"));
    assert.equal(failure.code, "INTERNAL_ERROR");
    assert.doesNotMatch(failure.message, /secret/);
    assert.match(String(failure.cause), /secret/);
  });
});
