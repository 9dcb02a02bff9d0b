import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { startHeartbeat, newHeart, workOf } from "../../lib/heartbeat.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Call, Operation } from "../operation/call.ts";
import { makeStoppedOperations } from "./stopped-operations.ts";

function callOf(id: string, key: string, run: () => void = () => {}): Call {
  const operation = {
    id,
    run() {
      run();
      return { status: 204 };
    },
  } as unknown as Operation;
  return { operation, principal: { accountId: "ac_1", id: key, operator: false } } as unknown as Call;
}

describe("operations that hung the management API", () => {
  it("an operation that hung the management API is rejected for its key only, for ten minutes", () => {
    const clock = makeManualClock();
    const heart = newHeart();
    startHeartbeat(heart);
    let mark = 0;
    const noting = callOf("checkPolicy", "ak_1", () => (mark = workOf(heart)));
    assert.deepEqual(makeStoppedOperations(new Set(), clock).run(noting), { status: 204 });
    assert.notEqual(mark, 0);
    assert.equal(workOf(heart), 0);

    const after = makeStoppedOperations(new Set([mark]), clock);
    const isRefused = (error: unknown) => error instanceof Refusal && error.reason === "operation_stopped";
    assert.throws(() => after.run(callOf("checkPolicy", "ak_1")), isRefused);
    assert.deepEqual(after.run(callOf("checkPolicy", "ak_2")), { status: 204 });
    assert.deepEqual(after.run(callOf("listTunnels", "ak_1")), { status: 204 });
    clock.pass(600_000);
    assert.deepEqual(after.run(callOf("checkPolicy", "ak_1")), { status: 204 });
  });

  it("an operation that throws an error leaves no mark for the watchdog", () => {
    const heart = newHeart();
    startHeartbeat(heart);
    const failing = callOf("checkPolicy", "ak_1", () => {
      throw new Error("it fails");
    });
    assert.throws(() => makeStoppedOperations(new Set(), makeManualClock()).run(failing), /it fails/);
    assert.equal(workOf(heart), 0);
  });
});
