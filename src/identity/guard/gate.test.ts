import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../lib/errors.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeLoginGate } from "./gate.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the login gate", () => {
  it("the login gate admits a few pieces of work in each event-loop turn, in order", async () => {
    const gate = makeLoginGate();
    const went: number[] = [];
    for (let at = 0; at < 50; at += 1) {
      const wait = gate.enter();
      if (wait) void wait.then(() => went.push(at));
      else went.push(at);
    }
    assert.equal(went.length, 4);
    const perTurn: number[] = [];
    while (went.length < 50) {
      const before = went.length;
      await turn();
      perTurn.push(went.length - before);
    }
    assert.ok(Math.max(...perTurn) <= 4, perTurn.join());
    assert.deepEqual(
      went,
      Array.from({ length: 50 }, (_, at) => at),
    );
    await turn();
    assert.equal(gate.enter(), undefined, "and nobody waits when nobody is there");
  });

  it(`the login gate refuses work that would wait too long with ${errorCode("login_busy")}`, async () => {
    const gate = makeLoginGate();
    const all = Array.from({ length: 20_004 }, () => gate.enter());
    assert.throws(
      () => gate.enter(),
      (error: unknown) => error instanceof LoginRefusal && error.reason === "login_busy",
    );
    for (const one of all) await one;
  });
});
