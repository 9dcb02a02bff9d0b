import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { newSessionCookie, Session } from "./login-session.ts";
import type { SessionRecord } from "./login-session.ts";

describe("I2: recently seen cookies", () => {
  const clock = makeManualClock();
  const session = (): Session => new Session({ loginAt: 0, lastActive: 0, checkedAt: 0 } as SessionRecord, clock);

  it("I2: recently seen cookies are forgotten after ten seconds", () => {
    const seen = makeSeenCookies(clock);
    const [cookie, one] = [newSessionCookie(), session()];
    seen.put(cookie, one);
    clock.pass(9_999);
    assert.equal(seen.get(cookie), one);
    clock.pass(1);
    assert.equal(seen.get(cookie), undefined);
    seen.stop();
  });

  it("I2: recently seen cookies lead to no session once it has ended", () => {
    const seen = makeSeenCookies(clock);
    const [cookie, one] = [newSessionCookie(), session()];
    seen.put(cookie, one);
    assert.equal(seen.get(newSessionCookie()), undefined);
    one.ended = true;
    assert.equal(seen.get(cookie), undefined);
    one.ended = false;
    seen.drop(one);
    assert.equal(seen.get(cookie), undefined);
    seen.stop();
  });

  it("I2: recently seen cookies are limited to one thousand", () => {
    const seen = makeSeenCookies(clock);
    const cookies = Array.from({ length: 5_000 }, newSessionCookie);
    for (const cookie of cookies) {
      seen.put(cookie, session());
      assert.ok(seen.get(cookie));
    }
    assert.ok(cookies.filter((cookie) => seen.get(cookie) !== undefined).length <= 1_000);
    seen.stop();
  });
});
