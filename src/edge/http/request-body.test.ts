import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientSide } from "./client-side.ts";
import { defaultLimits } from "./http-context.ts";
import { makeCounters } from "./http-counters.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { RequestBody } from "./request-body.ts";

function makeBody(bodyLength: number) {
  const counters = makeCounters();
  const context = { counters, limits: { ...defaultLimits, maxHeldBytes: 1000 } };
  let consumed = 0;
  const client = { requestConsumed: (count: number) => (consumed += count), sendInterim: () => {} };
  const body = new RequestBody(
    client as unknown as ClientSide,
    { bodyLength, expectsContinue: false } as ReceivedRequest,
    { shared: { context, heldBytes: 0 }, accountId: "ac_1" },
  );
  return { body, counters, consumed: () => consumed };
}

describe("a replaced request body", () => {
  for (const bodyLength of [6, -1]) {
    it(`a replaced request body is used by later readers and the upstream (length ${bodyLength})`, async () => {
      const { body, counters, consumed } = makeBody(bodyLength);
      body.keep(Buffer.from("abc"));
      const whole = body.collect(100);
      body.keep(Buffer.from("def"));
      body.hasEnded = true;
      body.end(undefined);
      assert.equal((await whole).toString(), "abcdef");
      body.replace(Buffer.from("longer than before"));
      assert.equal((await body.collect(100)).toString(), "longer than before");
      assert.deepEqual([body.size, counters.heldBytes, consumed()], [18, 18, 6]);
      assert.equal(Buffer.concat([...body.take()]).toString(), "longer than before");
      assert.deepEqual([body.size, counters.heldBytes], [0, 0]);
    });
  }

  it("a replaced request body is read within a limit that the original exceeded", async () => {
    const { body } = makeBody(6);
    body.keep(Buffer.from("abcdef"));
    body.hasEnded = true;
    body.replace(Buffer.from("x"));
    assert.equal((await body.collect(3)).toString(), "x");
  });

  it("a replaced request body may become empty", async () => {
    const { body, counters } = makeBody(3);
    body.keep(Buffer.from("abc"));
    body.hasEnded = true;
    body.replace(Buffer.alloc(0));
    assert.deepEqual([(await body.collect(100)).length, body.size, counters.heldBytes, body.take()], [0, 0, 0, []]);
  });

  it("a replaced request body is refused before the original has arrived", () => {
    const { body } = makeBody(6);
    body.keep(Buffer.from("abc"));
    assert.throws(() => body.replace(Buffer.from("x")), /has not arrived/);
    assert.equal(body.size, 3);
  });
});

describe("a forwarded request body", () => {
  it("a forwarded request body is available again, with the pieces that followed, until it is released", () => {
    const { body, counters } = makeBody(9);
    body.keep(Buffer.from("abc"));
    assert.equal(String(Buffer.concat([...body.lend()])), "abc");
    body.lent(Buffer.from("def"));
    assert.equal(body.size, 0);
    assert.equal(body.restore(), true);
    body.keep(Buffer.from("ghi"));
    assert.equal(String(Buffer.concat([...body.lend()])), "abcdefghi");
    assert.ok(counters.heldBytes > 0);
    body.release();
    assert.deepEqual([body.restore(), counters.heldBytes], [false, 0]);
  });

  it("a forwarded request body is never available in part", () => {
    const large = Buffer.alloc(16 * 1024 + 1);
    const first = makeBody(-1).body;
    first.keep(large);
    assert.equal(first.lend()[0]?.length, large.length);
    first.lent(Buffer.from("rest"));
    assert.equal(first.restore(), false);
    const second = makeBody(-1).body;
    second.lent(Buffer.from("begin"));
    second.lent(large);
    second.lent(Buffer.from("rest"));
    assert.equal(second.restore(), false);
  });
});
