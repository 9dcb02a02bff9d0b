import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import { silentLog } from "../../lib/log.ts";
import type { Store } from "../../storage/store.ts";
import { keepLoginKeys } from "./login-keys.ts";
import { dayMs } from "../../lib/durations.ts";

const kinds: ReadonlySet<string> = new Set(["login_key"]);

describe("keys of logins", () => {
  const clock = makeManualClock(Date.UTC(2026, 0, 2));
  let store: Store;
  let stop: () => Promise<void>;
  before(async () => void ({ store, stop } = await openServerStore(clock)));
  after(() => stop());

  /** Starts a control plane, which checks the keys immediately. */
  const look = async (on = store): Promise<void> => (await keepLoginKeys(on, clock, silentLog)).cancel();
  /** Returns when each key becomes active, in days from now, newest first. */
  const daysOf = (purpose: string): readonly number[] =>
    Array.from(store.objects(kinds))
      .filter(({ doc }) => doc["purpose"] === purpose)
      .map(({ doc }) => Math.round((Date.parse(String(doc["used_from"])) - clock.now()) / dayMs))
      .sort((one, other) => other - one);

  it("K4: keys of logins are created at the start, one of each kind even if two nodes start simultaneously", async () => {
    await Promise.all([look(), look()]);
    for (const purpose of ["flow", "assertion", "request"]) assert.deepEqual(daysOf(purpose), [0], purpose);
  });

  it("keys of logins that seal flows are renewed daily, and two old keys remain", async () => {
    for (const [hours, days] of [
      [23, [-1]],
      [1, [0, -1]],
      [23, [-1, -2]],
      [1, [0, -1, -2]],
      [24, [0, -1, -2]],
    ] as const) {
      clock.pass(hours * 3_600_000);
      await look();
      assert.deepEqual(daysOf("flow"), days);
    }
  });

  it("keys of logins that sign identities are renewed after 30 days, and services get the next key a day before it signs", async () => {
    clock.pass(26 * dayMs - 1_000);
    await look();
    assert.equal(daysOf("assertion").length, 1, "29 days less a second");
    clock.pass(1_000);
    await look();
    assert.deepEqual(daysOf("assertion"), [1, -29]);
    clock.pass(29 * dayMs);
    await look();
    assert.deepEqual(daysOf("assertion"), [-28, -58]);
    clock.pass(dayMs);
    await look();
    assert.deepEqual(daysOf("assertion"), [1, -29]);
  });

  it("keys of logins that sign SAML requests are never renewed, because providers have their certificate", async () => {
    clock.pass(3_650 * dayMs);
    await look();
    assert.equal(daysOf("request").length, 1);
    assert.ok((daysOf("request")[0] ?? 0) < -3_650);
  });

  it("keys of logins are checked every minute, one check at a time, and an unavailable database does not block the start", async () => {
    let writes = 0;
    const held = Promise.withResolvers<never>();
    held.promise.catch(() => {});
    const slow = storeBut(store, {
      write() {
        writes += 1;
        return writes === 1 ? Promise.reject(new Error("away")) : held.promise;
      },
    });
    clock.pass(2 * dayMs);
    const timer = await keepLoginKeys(slow, clock, silentLog);
    assert.equal(writes, 1);
    for (let minute = 0; minute < 3; minute += 1) {
      clock.pass(60_000);
      await new Promise(setImmediate);
    }
    assert.equal(writes, 2, "while one waits, the next minutes make none");
    held.reject(new Error("away"));
    await new Promise(setImmediate);
    clock.pass(60_000);
    await new Promise(setImmediate);
    assert.equal(writes, 3);
    timer.cancel();
  });
});
