import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TakenMessages } from "./replays.ts";

const hour = 3_600_000;

describe("the messages that were taken", () => {
  it("I6: the messages that were taken are remembered as long as any provider's timestamp is valid, then forgotten", () => {
    const taken = new TakenMessages();
    taken.add("msg_1", 0);
    assert.equal(taken.has("msg_1", 2 * hour - 1), true);
    assert.equal(taken.has("msg_2", 0), false);
    assert.equal(taken.has("msg_1", 2 * hour), false);
    taken.add("msg_1", 3 * hour);
    assert.equal(taken.has("msg_1", 4 * hour), true);
  });

  it("the messages that were taken are limited in number: the oldest are removed", () => {
    const taken = new TakenMessages();
    for (let at = 0; at < 10_001; at += 1) taken.add(`msg_${at}`, 0);
    assert.equal(taken.has("msg_0", 0), false);
    assert.equal(taken.has("msg_1", 0), true);
    assert.equal(taken.has("msg_10000", 0), true);
  });
});
