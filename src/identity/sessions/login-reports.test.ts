import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { makeLoginReports } from "./login-reports.ts";
import type { LoginReport } from "./login-reports.ts";

describe("an edge's questions about logins", () => {
  it("I2: an edge's questions about logins are limited to about fifty cookies a second, whoever invents them", async () => {
    const clock = makeManualClock();
    const sent: LoginReport[] = [];
    const reports = makeLoginReports((report) => sent.push(report), clock);
    const flood = (): Promise<unknown>[] => Array.from({ length: 1_000 }, () => reports.wanted("ac_1", "hash"));
    const asked = flood();
    assert.equal(sent.length, 50);
    clock.pass(1_000);
    assert.deepEqual(await Promise.all(asked), Array<undefined>(1_000).fill(undefined));
    const more = flood();
    assert.equal(sent.length, 100);
    clock.pass(1_000);
    await Promise.all(more);
  });
});
