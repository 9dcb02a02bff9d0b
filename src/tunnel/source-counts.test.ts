import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { AddressBook } from "./source-counts.ts";
import { defaultTunnelLimits } from "./tunnel-limits.ts";

describe("the address book", () => {
  const limits = { ...defaultTunnelLimits, maxWrongTokens: 3, maxUnauthenticatedPerAddress: 2, maxUnauthenticated: 4 };

  it("D9: the address book counts the wrong tokens of an address and forgets them after a while", () => {
    const clock = makeManualClock();
    const book = new AddressBook(clock, limits);
    for (let at = 0; at < 3; at += 1) {
      assert.ok(book.admits("192.0.2.1"));
      book.wrongToken("192.0.2.1");
    }
    assert.ok(!book.admits("192.0.2.1"));
    assert.ok(!book.admits("::ffff:192.0.2.1"), "the same address, mapped");
    assert.ok(book.admits("192.0.2.2"));
    clock.pass(limits.wrongTokenWindowMs);
    assert.ok(book.admits("192.0.2.1"));
    book.wrongToken("192.0.2.1");
    assert.ok(book.admits("192.0.2.1"), "counting begins anew");
  });

  it("D9: the address book treats the addresses that an IPv6 host can choose from as one", () => {
    const book = new AddressBook(makeManualClock(), limits);
    for (const host of ["1", "2", "ffff:1"]) book.wrongToken(`2001:db8:0:1::${host}`);
    assert.ok(!book.admits("2001:db8:0:1::99"));
    assert.ok(book.admits("2001:db8:0:2::1"));
  });

  it("D9: the address book limits unauthenticated connections per address and in total", () => {
    const book = new AddressBook(makeManualClock(), limits);
    book.connected("192.0.2.1");
    book.connected("192.0.2.1");
    assert.ok(!book.admits("192.0.2.1"));
    book.connected("192.0.2.2");
    book.connected("192.0.2.3");
    assert.ok(!book.admits("192.0.2.4"));
    book.settled("192.0.2.1");
    assert.ok(book.admits("192.0.2.4"));
    assert.ok(book.admits("192.0.2.1"));
  });
});
