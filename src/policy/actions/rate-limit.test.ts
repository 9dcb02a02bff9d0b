import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { faultsOf, makeAction } from "../../../test/support/policy-action.ts";
import { WindowPool } from "../language/window-pool.ts";
import { rateLimit } from "./rate-limit.ts";

const config = { name: "per key", algorithm: "sliding_window", capacity: 2, rate: "60s", bucket_key: ["vars.key"] };

describe("rate-limit", () => {
  it("rate-limit rejects requests beyond the capacity, by key, and sends the time of the next slot", async () => {
    const action = makeAction(rateLimit, config);
    const take = (key: string) => action.run(undefined, { key });
    assert.deepEqual((await take("a")).result, { bucket_key: '["a"]', limited: false });
    action.clock.pass(1000);
    await take("a");
    action.clock.pass(1000);
    const refused = await take("a");
    assert.deepEqual(refused.end, {
      by: "refusal",
      answer: { error: "rate_limited", headers: { "retry-after": "59" } },
    });
    assert.equal(refused.result?.["limited"], true);
    assert.equal((await take("b")).end, undefined);
    action.clock.pass(123_000);
    assert.equal((await take("a")).end, undefined);
  });

  it("rate-limit counts nothing in a rehearsal", async () => {
    const action = makeAction(rateLimit, { ...config, capacity: 1 });
    for (let round = 0; round < 3; round += 1) assert.equal((await action.rehearse()).end, undefined);
    await action.run();
    assert.equal((await action.rehearse()).end?.by, "refusal");
  });

  it("rate-limit stores no more keys than the server's limit for all rate limits", async () => {
    const action = makeAction(rateLimit, { ...config, capacity: 1 }, { windows: new WindowPool(3) });
    const take = async (key: number) => (await action.run(undefined, { key: String(key) })).end;
    for (let key = 0; key < 5; key += 1) assert.equal(await take(key), undefined);
    assert.ok(await take(4));
    assert.equal(await take(0), undefined);
  });

  it("rate-limit only reports excess requests if it is not enforced", async () => {
    const action = makeAction(rateLimit, { ...config, capacity: 1, enforce: false });
    await action.run();
    const { end, result, outcome } = await action.run();
    assert.deepEqual([end, result?.["limited"], outcome], [undefined, true, "done"]);
  });

  it("rate-limit treats a key without a value as empty, and distinguishes keys that look alike", async () => {
    const action = makeAction(rateLimit, { ...config, capacity: 1, bucket_key: ["vars.a", "vars.b"] });
    assert.equal((await action.run()).result?.["bucket_key"], '["",""]');
    for (const vars of [
      { a: "x,y", b: "" },
      { a: "x", b: "y" },
      { a: 'x","y', b: "" },
      { a: 1n, b: "" },
      { a: "1", b: "" },
    ]) {
      assert.equal((await action.run(undefined, vars)).end, undefined);
    }
  });

  it("rate-limit keeps its counters when the policy is compiled again, and resets them for a changed limit", async () => {
    const action = makeAction(rateLimit, { ...config, capacity: 1 });
    await action.run();
    assert.equal((await action.again({ ...config, capacity: 1 }).run()).end?.by, "refusal");
    assert.equal((await action.again({ ...config, capacity: 2 }).run()).end, undefined);
  });

  it("rate-limit rejects limits that it cannot enforce", () => {
    for (const [change, fault] of [
      [{ rate: "65s" }, /^rate must be a multiple of 10s/],
      [{ rate: "50s" }, /^rate must be from/],
      [{ rate: "25h" }, /^rate must be from/],
      [{ capacity: 0 }, /^capacity /],
      [{ capacity: 2_000_000_001 }, /^capacity /],
      [{ algorithm: "token_bucket" }, /^algorithm /],
      [{ bucket_key: [] }, /^bucket_key /],
      [{ bucket_key: ["nothing.here"] }, /^bucket_key\[0\] /],
      [{ name: undefined }, /^name /],
      [{ num_buckets: 5 }, /^num_buckets /],
    ] as const) {
      assert.match(faultsOf(rateLimit, { ...config, ...change })[0] ?? "", fault);
    }
  });
});
