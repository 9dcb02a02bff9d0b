import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { errorCode } from "../../lib/errors.ts";
import { denyStep, passStep } from "../../traffic/step.ts";
import type { FinishedExchange } from "../http/http-context.ts";
import { Ring } from "../../lib/collections/ring.ts";
import { requestTraces } from "./request-traces.ts";
import { defaultTraceLimits, makeTraces } from "./traces.ts";

const refused = denyStep("ip_restriction", "source_denied", "denied by rule ipr_1", {
  kind: "ip_policy_rule",
  id: "ipr_1",
  revision: 7,
});
/** Not used by traces. */
const unused = {} as Pick<
  FinishedExchange,
  | "requestId"
  | "connection"
  | "shared"
  | "request"
  | "receivedAt"
  | "arrival"
  | "revision"
  | "responded"
  | "route"
  | "capturedBody"
>;
const matched = passStep("router", "matched");

function exchange(id: string, change: Partial<FinishedExchange> = {}): FinishedExchange {
  return {
    id,
    method: "GET",
    host: "h",
    path: "/",
    status: 403,
    accountId: "ac_1",
    siteId: "edghts_1",
    routeId: "edghtsrt_1",
    tunnel: undefined,
    source: "192.0.2.1",
    ...unused,
    bytesIn: 0,
    bytesOut: 0,
    durationMs: 1,
    waitedMs: undefined,
    trace: undefined,
    chosenAt: undefined,
    sentAt: undefined,
    stepEnds: undefined,
    cutShort: false,
    steps: [matched, refused],
    ...change,
  };
}

const forwarded = { status: 200, steps: [matched] };

describe("the traces of requests", () => {
  it("the traces of requests contain each request's end and the object and revision that caused it", () => {
    const traces = makeTraces(requestTraces, makeManualClock(), defaultTraceLimits);
    traces.note(exchange("req_1"));
    const found = traces.find("ac_1", "req_1");
    assert.equal(found?.outcome, "denied");
    assert.equal(found.errorCode, errorCode("source_denied"));
    assert.deepEqual(found.steps[1]?.decidedBy, { kind: "ip_policy_rule", id: "ipr_1", revision: 7 });
    const gone = denyStep("router", "tunnel_gone", "no backend is left");
    traces.note(exchange("req_2", { status: 503, steps: [matched, gone] }));
    traces.note(exchange("req_3", { ...forwarded, cutShort: true }));
    traces.note(exchange("req_4", forwarded));
    const outcomes = ["req_2", "req_3", "req_4"].map((id) => traces.find("ac_1", id)?.outcome);
    assert.deepEqual(outcomes, ["failed", "failed", "forwarded"]);
  });

  it("P1: the traces of requests are separate per account, and absent without an account", () => {
    const traces = makeTraces(requestTraces, makeManualClock(), defaultTraceLimits);
    traces.note(exchange("req_1"));
    traces.note(exchange("req_2", { accountId: undefined }));
    assert.equal(traces.find("ac_2", "req_1"), undefined);
    assert.deepEqual(traces.list("ac_2", 10, undefined), { found: [], more: false });
    assert.equal(traces.list("ac_1", 10, undefined).found.length, 1);
  });

  it("D10: the traces of requests are limited per account and in total, the largest account losing its oldest first", () => {
    const traces = makeTraces(requestTraces, makeManualClock(), { ...defaultTraceLimits, ended: 50, total: 60 });
    traces.note(exchange("req_0", { accountId: "ac_quiet" }));
    for (let index = 100; index < 900; index += 1) traces.note(exchange(`req_${index}`, { accountId: "ac_loud" }));
    for (let index = 100; index < 900; index += 1) traces.note(exchange(`req_${index}`, { accountId: "ac_more" }));
    const sizes = ["ac_quiet", "ac_loud", "ac_more"].map((id) => traces.list(id, 1000, undefined).found.length);
    assert.equal(sizes[0], 1);
    assert.ok(Math.max(...sizes) <= 50);
    assert.ok(sizes.reduce((sum, size) => sum + size) <= 60, String(sizes));
    assert.equal(traces.list("ac_more", 1, undefined).found[0]?.id, "req_899");
  });

  it("D10: the traces of requests contain a sample of forwarded ones, which never displaces denied ones", () => {
    const clock = makeManualClock();
    const sampled = { perSecond: 1, burst: 3 };
    const traces = makeTraces(requestTraces, clock, { ...defaultTraceLimits, forwarded: 5, sampled });
    traces.note(exchange("req_denied"));
    for (let index = 0; index < 100; index += 1) traces.note(exchange(`req_${index}`, forwarded));
    assert.equal(traces.list("ac_1", 100, undefined).found.length, 4);
    for (let index = 0; index < 10; index += 1) {
      clock.pass(1000);
      traces.note(exchange(`req_later_${index}`, forwarded));
    }
    assert.equal(traces.list("ac_1", 100, undefined).found.length, 6);
    assert.notEqual(traces.find("ac_1", "req_denied"), undefined);
  });

  it("the traces of requests are listed newest first, in pages", () => {
    const traces = makeTraces(requestTraces, makeManualClock(), defaultTraceLimits);
    for (const id of ["req_b", "req_a", "req_c"]) traces.note(exchange(id));
    const first = traces.list("ac_1", 2, undefined);
    assert.deepEqual([first.found.map(({ id }) => id), first.more], [["req_c", "req_b"], true]);
    const next = traces.list("ac_1", 2, "req_b");
    assert.deepEqual([next.found.map(({ id }) => id), next.more], [["req_a"], false]);
  });
});

describe("a ring", () => {
  it("a ring holds the last values in order, also after some were removed", () => {
    const ring = new Ring<number>(3);
    for (let value = 1; value <= 5; value += 1) ring.put(value);
    assert.deepEqual([...ring], [3, 4, 5]);
    assert.equal(ring.drop(), true);
    assert.equal(ring.put(6), true);
    assert.deepEqual([...ring], [4, 5, 6]);
    assert.equal(ring.put(7), false);
    assert.deepEqual([...ring], [5, 6, 7]);
    while (ring.drop());
    assert.equal(ring.size, 0);
  });
});

it("D9: a denied request costs the same to record with 10,000 accounts as with 10", () => {
  const spent = (accounts: number): number => {
    const traces = makeTraces(requestTraces, makeManualClock(), { ...defaultTraceLimits, total: accounts });
    const note = (index: number): void =>
      traces.note(exchange(`req_${index}`, { accountId: `ac_${index % accounts}` }));
    for (let index = 0; index <= accounts; index += 1) note(index);
    const before = process.cpuUsage();
    for (let index = 0; index < 20_000; index += 1) note(index);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  spent(10);
  const [few, many] = [spent(10), spent(10_000)];
  assert.ok(many < 20 * few, `${few} µs with 10 accounts, ${many} µs with 10,000`);
});
