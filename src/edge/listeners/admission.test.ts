import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeAdmission } from "./admission.ts";
import { defaultListenerLimits } from "./listener-limits.ts";

const make = (limits = {}) => {
  let now = 0;
  const admission = makeAdmission({ ...defaultListenerLimits, ...limits }, () => now);
  return { admission, pass: (ms: number) => (now += ms) };
};

describe("the admission of connections", () => {
  it("D2: the admission of connections limits the open ones of one address and of no other address", () => {
    const { admission } = make({ connectionsPerSource: 2 });
    assert.equal(admission.enter("192.0.2.1"), undefined);
    assert.equal(admission.enter("192.0.2.1"), undefined);
    assert.equal(admission.enter("192.0.2.1"), "connections_per_source");
    assert.equal(admission.enter("192.0.2.2"), undefined);
    assert.equal(admission.open, 3);
    admission.leave("192.0.2.1");
    assert.equal(admission.enter("192.0.2.1"), undefined);
  });

  it("D2: the admission of connections counts a forwarder's address only in the total", () => {
    const { admission } = make({ connections: 3, connectionsPerSource: 1, openingsPerSecond: 0.1 });
    for (let count = 0; count < 3; count += 1) assert.equal(admission.enter(undefined), undefined);
    assert.equal(admission.sources, 0);
    assert.equal(admission.enter(undefined), "connections");
    admission.leave(undefined);
    assert.equal(admission.open, 2);
    assert.equal(admission.enter("192.0.2.1"), undefined);
  });

  it("D2: the admission of connections counts IPv6 by the network of one host", () => {
    const { admission } = make({ connectionsPerSource: 1 });
    assert.equal(admission.enter("2001:db8:0:1::1"), undefined);
    assert.equal(admission.enter("2001:db8:0:1:ffff::2"), "connections_per_source");
    assert.equal(admission.enter("2001:db8:0:2::1"), undefined);
  });

  it("D2: the admission of connections limits the rate of one address", () => {
    const { admission, pass } = make({ openingsPerSecond: 2 });
    const open = (): string | undefined => {
      const reason = admission.enter("192.0.2.1");
      if (reason === undefined) admission.leave("192.0.2.1");
      return reason;
    };
    for (let count = 0; count < 20; count += 1) assert.equal(open(), undefined);
    assert.equal(open(), "openings_per_source");
    pass(500);
    assert.equal(open(), undefined);
    assert.equal(open(), "openings_per_source");
  });

  it("the admission of connections limits their total, including loopback", () => {
    const { admission } = make({ connections: 3, connectionsPerSource: 1 });
    for (const source of ["127.0.0.1", "127.0.0.1", "::1"]) assert.equal(admission.enter(source), undefined);
    assert.equal(admission.enter("192.0.2.1"), "connections");
    admission.leave("::1");
    assert.equal(admission.enter("192.0.2.1"), undefined);
  });

  it("the admission of connections remembers a limited number of addresses", () => {
    const { admission } = make({ openingsPerSecond: 1 });
    for (let host = 0; host < 25_000; host += 1) {
      const source = `10.0.${host >> 8}.${host & 255}`;
      assert.equal(admission.enter(source), undefined);
      admission.leave(source);
    }
    assert.equal(admission.open, 0);
    assert.ok(admission.sources <= 10_000);
  });
});
