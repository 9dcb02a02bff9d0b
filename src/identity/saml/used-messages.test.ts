import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeUsedMessages } from "./used-messages.ts";

describe("single-use messages", () => {
  it("I4: single-use messages are accepted once, until they expire", () => {
    const used = makeUsedMessages(10);
    assert.equal(used.claim("a", 100, 0), "first");
    assert.equal(used.claim("a", 100, 99), "used");
    assert.equal(used.claim("b", 100, 99), "first");
    assert.equal(used.claim("a", 200, 100), "first");
  });

  it("I4: single-use messages are refused when there is no room to remember them", () => {
    const used = makeUsedMessages(2);
    used.claim("a", 5000, 0);
    used.claim("b", 1500, 0);
    assert.equal(used.claim("c", 5000, 0), "unknown");
    assert.equal(used.claim("c", 5000, 999), "unknown");
    assert.equal(used.claim("a", 5000, 2000), "used");
    assert.equal(used.claim("c", 5000, 2000), "first");
    assert.equal(used.claim("d", 5000, 2000), "unknown");
  });

  it("S1: single-use messages trigger a cleanup at most once a second when there is no room, and an expired one can be used again", () => {
    const used = makeUsedMessages(2);
    used.claim("a", 5000, 0);
    used.claim("b", 1500, 0);
    assert.equal(used.claim("c", 5000, 1000), "unknown", "nothing is over yet");
    assert.equal(used.claim("c", 5000, 1600), "unknown", "looked for a moment ago");
    assert.equal(used.claim("b", 5000, 1600), "first");
    const one = makeUsedMessages(1);
    one.claim("a", 500, 0);
    assert.equal(one.claim("b", 5000, 900), "first");
  });
});
