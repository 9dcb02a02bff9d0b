import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { makeOpenExchanges } from "./open-exchanges.ts";
import { Session } from "./login-session.ts";
import type { SessionRecord } from "./login-session.ts";

function fixture() {
  const clock = makeManualClock();
  const open = makeOpenExchanges(clock);
  const cut: string[] = [];
  const session = (): Session => {
    const now = clock.now();
    return new Session({ loginAt: now, lastActive: now, checkedAt: now } as SessionRecord, clock);
  };
  const request = (name: string): Exchange => {
    const exchange: Exchange = Object.assign(exchangeOf(), {
      breakOff() {
        cut.push(name);
        exchange.watcher?.over();
      },
    });
    return exchange;
  };
  return { clock, open, cut, session, request };
}

describe("requests admitted by a login", () => {
  it("I2: requests admitted by a login are aborted when it ends, and other requests are not", () => {
    for (const ended of [["a"], ["b"], ["c"], ["a", "c"], ["c", "b"], ["a", "b", "c"], []]) {
      const { open, cut, session, request } = fixture();
      for (const name of ["a", "b", "c"]) {
        const one = session();
        one.ended = ended.includes(name);
        open.add(request(name), one, 0);
      }
      open.sweep();
      assert.deepEqual(cut.sort(), [...ended].sort());
      assert.equal(open.size, 3 - ended.length);
      open.sweep();
      assert.equal(cut.length, ended.length);
    }
  });

  it("I2: requests admitted by two logins are aborted when either ends, and then forgotten", () => {
    for (const which of [0, 1]) {
      const { open, cut, session, request } = fixture();
      const sessions = [session(), session()];
      const exchange = request("both");
      for (const one of sessions) open.add(exchange, one, 0);
      open.add(request("other"), session(), 0);
      (sessions[which] as Session).ended = true;
      open.sweep();
      assert.deepEqual(cut, ["both"]);
      assert.equal(open.size, 1);
    }
  });

  it("requests admitted by a login are forgotten when they end, in any order", () => {
    const { open, session, request } = fixture();
    const exchanges = Array.from({ length: 5 }, (_, index) => request(String(index)));
    for (const exchange of exchanges) open.add(exchange, session(), 0);
    for (const at of [2, 0, 4, 3, 1, 1]) exchanges[at]?.watcher?.over();
    assert.equal(open.size, 0);
    open.add(Object.assign(request("late"), { isOver: true }), session(), 0);
    assert.equal(open.size, 0);
  });

  it("I2: requests admitted by a login are aborted when the session reaches its route's maximum age", () => {
    const { clock, open, cut, session, request } = fixture();
    open.add(request("short"), session(), 60_000);
    open.add(request("long"), session(), 0);
    clock.pass(59_500);
    assert.deepEqual(cut, []);
    clock.pass(500);
    assert.deepEqual(cut, ["short"]);
  });
});
