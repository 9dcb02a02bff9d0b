import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf } from "../../test/support/exchange.ts";
import type { TestExchange } from "../../test/support/exchange.ts";
import { routeWith, tableOf } from "../../test/support/routing.ts";
import { seededRandom } from "../../test/support/random.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { Breaker } from "../traffic/parts/breaker.ts";
import { circuitBreaker } from "./circuit-breaker.ts";

const config = {
  tripped_duration: 10,
  rolling_window: 10,
  num_buckets: 5,
  volume_threshold: 4,
  error_threshold_percentage: 0.5,
};

function setUp() {
  const clock = makeManualClock();
  const set = tableOf(clock);
  const configure = (change: object = {}) => routeWith("circuit_breaker", { ...config, ...change }, set);
  let route = configure();
  const admit = (exchange: TestExchange = exchangeOf()): string => {
    const step = route.request[0]?.request?.(exchange);
    assert.ok(step && "reason" in step);
    return step.reason.split(":", 1)[0] as string;
  };
  const settle = (status: number | undefined, exchange = exchangeOf()) => route.settled[0]?.settled?.(exchange, status);
  return { clock, set, admit, settle, configure: (change: object) => (route = configure(change)), route: () => route };
}

describe("circuit breaker", () => {
  it("D5: the circuit breaker trips at its share of failures after enough requests", () => {
    const { admit, settle } = setUp();
    for (const status of [500, undefined, 200]) settle(status);
    assert.equal(admit(), "closed");
    settle(404);
    assert.equal(admit(), "open");
  });

  it("the circuit breaker does not trip below the share", () => {
    const { admit, settle } = setUp();
    for (const status of [500, 200, 200, 200, 200, 499]) settle(status);
    assert.equal(admit(), "closed");
  });

  it("the circuit breaker forgets counts outside the window, bucket by bucket", () => {
    const { admit, settle, clock } = setUp();
    settle(500);
    settle(500);
    clock.pass(9000);
    settle(200);
    clock.pass(2000);
    settle(200);
    settle(200);
    settle(500);
    assert.equal(admit(), "closed");
    settle(500);
    settle(500);
    assert.equal(admit(), "open");
  });

  it("D5: the circuit breaker passes one request after the pause: success closes it, failure opens it again", () => {
    const { admit, settle, clock } = setUp();
    for (let count = 0; count < 4; count += 1) settle(503);
    clock.pass(9999);
    assert.equal(admit(), "open");
    clock.pass(1);
    const probe = exchangeOf();
    assert.equal(admit(probe), "half-open");
    assert.equal(admit(), "open");
    settle(200);
    assert.equal(admit(), "open", "a request from before says nothing");
    settle(500, probe);
    assert.equal(admit(), "open");
    clock.pass(10_000);
    const second = exchangeOf();
    assert.equal(admit(second), "half-open");
    settle(200, second);
    assert.equal(admit(), "closed");
    settle(500);
    assert.equal(admit(), "closed", "it starts counting anew");
  });

  it("S7: the circuit breaker remains open for its time, even if the wall clock changes", () => {
    for (const stepMs of [3_600_000, -3_600_000]) {
      const { admit, settle, clock } = setUp();
      for (let count = 0; count < 4; count += 1) settle(503);
      clock.step(stepMs);
      clock.pass(9999);
      assert.equal(admit(), "open");
      clock.pass(1);
      assert.equal(admit(), "half-open");
    }
  });

  it("the circuit breaker does not wait forever for a probe, and ignores a probe whose client disconnected", () => {
    const { admit, settle, clock } = setUp();
    for (let count = 0; count < 4; count += 1) settle(503);
    clock.pass(10_000);
    const abandoned = exchangeOf({ abandoned: true });
    assert.equal(admit(abandoned), "half-open");
    settle(undefined, abandoned);
    assert.equal(admit(), "half-open");
    assert.equal(admit(), "open");
    clock.pass(10_000);
    assert.equal(admit(), "half-open");
  });

  it("the circuit breaker preserves its counts when anything except the window changes", () => {
    const { admit, settle, configure } = setUp();
    for (let count = 0; count < 3; count += 1) settle(503);
    configure({ tripped_duration: 20 });
    settle(503);
    assert.equal(admit(), "open");
    configure({ volume_threshold: 100 });
    assert.equal(admit(), "open");
    configure({ num_buckets: 10 });
    assert.equal(admit(), "closed");
  });

  it("the circuit breaker can be evaluated without changing its state", async () => {
    const { admit, settle, clock, route } = setUp();
    for (let count = 0; count < 4; count += 1) settle(503);
    clock.pass(10_000);
    const rehearse = async () => (await route().request[0]?.rehearse?.(exchangeOf()))?.reason.split(":", 1)[0];
    assert.equal(await rehearse(), "half-open");
    assert.equal(await rehearse(), "half-open");
    assert.equal(admit(), "half-open");
    assert.equal(await rehearse(), "open");
  });

  it("the circuit breaker has the same counts as a plain list of the events in the window", () => {
    const random = seededRandom(4);
    for (let round = 0; round < 200; round += 1) {
      const buckets = 1 + random.below(8);
      const bucketMs = 10 * (1 + random.below(20));
      const breaker = new Breaker(buckets * bucketMs, buckets);
      const limits = { volume: 1 + random.below(6), share: random(), trippedMs: 1e9 };
      const events: { bucket: number; failed: boolean }[] = [];
      let now = random.below(10_000);
      for (let step = 0; step < 40; step += 1) {
        now += random.below(bucketMs * 3);
        const failed = random() < 0.4;
        breaker.settle({}, failed, now, limits);
        const bucket = Math.floor(now / bucketMs);
        events.push({ bucket, failed });
        const recent = events.filter((event) => event.bucket > bucket - buckets);
        const failures = recent.filter((event) => event.failed).length;
        const open = failures > 0 && recent.length >= limits.volume && failures / recent.length >= limits.share;
        assert.equal(breaker.wouldAdmit(now, limits), open ? "open" : "closed");
        if (open) break;
      }
    }
  });

  it("the circuit breaker has the documented defaults, also for 0, and limits", () => {
    const parse = (body: Record<string, unknown>) => parseFields(circuitBreaker.fields, body, "replace");
    const defaults = {
      tripped_duration: 10,
      rolling_window: 10,
      num_buckets: 10,
      volume_threshold: 20,
      error_threshold_percentage: 0.5,
    };
    assert.deepEqual(parse({}).doc, defaults);
    assert.deepEqual(
      parse({ tripped_duration: 0, rolling_window: 0, num_buckets: 0, volume_threshold: 0 }).doc,
      defaults,
    );
    for (const wrong of [
      { num_buckets: 129 },
      { error_threshold_percentage: 1.1 },
      { error_threshold_percentage: -0.1 },
      { rolling_window: 1.5 },
    ]) {
      assert.equal(parse(wrong).issues.length, 1, JSON.stringify(wrong));
    }
  });
});
