import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import type { Worker } from "node:worker_threads";
import { errorCode } from "../../lib/errors.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import type { ManualClock } from "../../../test/support/clock.ts";
import type { oddCalls } from "../../../test/support/odd-worker.ts";
import { makeLog } from "../../lib/log.ts";
import { startIdentityWorker, startWorker, WorkerFailure } from "./worker-client.ts";
import type { WorkerClient } from "./worker-client.ts";

type Odd = typeof oddCalls;

function plan(clock: ManualClock, lines: string[] = []) {
  const log = makeLog({
    level: "debug",
    format: "text",
    now: () => 0,
    monotonic: clock.monotonic,
    write: (text) => void lines.push(text),
  });
  return { clock, log };
}

async function withOdd(
  use: (client: WorkerClient<Odd>, clock: ManualClock, lines: string[]) => Promise<void>,
  maxWaiting = 1000,
): Promise<void> {
  const clock = makeManualClock();
  const lines: string[] = [];
  const file = new URL("../../../test/support/odd-worker.ts", import.meta.url);
  const client = startWorker<Odd>({ ...plan(clock, lines), file, maxWaiting, maxHeapMb: 32 });
  try {
    await use(client, clock, lines);
  } finally {
    await client.stop();
  }
}

const why = (expected: WorkerFailure["why"]) => (error: unknown) =>
  error instanceof WorkerFailure && error.why === expected;

/** Waits until the client knows that the worker ended and has set the timer for the next one. */
async function pauseSet(clock: ManualClock): Promise<void> {
  while (clock.pending === 0) await new Promise(setImmediate);
}

describe("the identity worker", () => {
  it("the identity worker starts with the first call, and serves many", async () => {
    await withOdd(async (client) => {
      const started = once(process, "worker") as Promise<[Worker]>;
      assert.deepEqual(await client.call("echo", { a: [1] }), { a: [1] });
      await started;
      const many = await Promise.all(Array.from({ length: 500 }, (_, at) => client.call("echo", at)));
      assert.deepEqual(
        many,
        Array.from({ length: 500 }, (_, at) => at),
      );
    });
  });

  it("calls back for data that only the caller has, and reports when no one has it", async () => {
    await withOdd(async (client) => {
      const know = (value: string) => Promise.resolve(value.toUpperCase());
      assert.equal(await client.call("ask", "a", { host: { know } }), "answered A");
      await assert.rejects(client.call("ask", "a"), /nobody knows know/);
      await assert.rejects(client.call("pry", undefined, { host: {} }), /nobody knows constructor/);
      const fails = { know: () => Promise.reject(new Error("unknown")) };
      await assert.rejects(client.call("ask", "a", { host: fails }), /unknown/);
    });
  });

  it("passes on an internal error of a call, and continues", async () => {
    await withOdd(async (client) => {
      await assert.rejects(
        client.call("fail", "of this"),
        (error) => why("failed")(error) && /of this/.test(String(error)),
      );
      await assert.rejects(client.call("toString" as "echo", 1), /there is no call/);
      assert.equal(await client.call("echo", 1), 1);
    });
  });

  it("D2: the identity worker aborts a call that takes too long, and serves others meanwhile", async () => {
    await withOdd(async (client, clock) => {
      const late = client.call("never", undefined, { timeoutMs: 500 });
      assert.equal(await client.call("echo", 1), 1);
      clock.pass(499);
      assert.equal(await client.call("echo", 2), 2);
      clock.pass(1);
      await assert.rejects(late, why("late"));
      assert.equal(await client.call("echo", 3), 3);
      assert.equal(clock.pending, 0);
    });
  });

  it("D2: ends a worker that hangs, and starts another after a pause", async () => {
    await withOdd(async (client, clock, lines) => {
      await client.call("echo", 1);
      const hangs = client.call("hang", undefined, { timeoutMs: 500 });
      const behind = client.call("echo", 2, { timeoutMs: 60_000 });
      const behindFails = assert.rejects(behind, why("died"));
      clock.pass(500);
      await assert.rejects(hangs, why("late"));
      clock.pass(1000);
      await behindFails;
      const next = client.call("echo", 3);
      clock.pass(100);
      assert.equal(await next, 3);
      await new Promise(setImmediate);
      assert.match(lines.join(""), /hangs/);
    });
  });

  it("the identity worker restarts after it died, after growing pauses, and keeps waiting calls", async () => {
    let starts = 0;
    const count = (): void => void (starts += 1);
    process.on("worker", count);
    await withOdd(async (client, clock, lines) => {
      let dies = client.call("die", undefined);
      for (const pauseMs of [100, 200, 400]) {
        await assert.rejects(dies, why("died"));
        await pauseSet(clock);
        const before = starts;
        dies = client.call("die", undefined);
        clock.pass(pauseMs - 1);
        await new Promise(setImmediate);
        assert.equal(starts, before);
        clock.pass(1);
        await new Promise(setImmediate);
        assert.equal(starts, before + 1);
      }
      await assert.rejects(dies, why("died"));
      await pauseSet(clock);
      const waits = client.call("echo", 1);
      clock.pass(800);
      assert.equal(await waits, 1);
      assert.match(lines.join(""), /died of this/);
    });
    process.off("worker", count);
  });

  it("D2: the identity worker restarts when it exceeds its memory limit", async () => {
    await withOdd(async (client, clock) => {
      await assert.rejects(client.call("fill", undefined), why("died"));
      await pauseSet(clock);
      const next = client.call("echo", 1);
      clock.pass(100);
      assert.equal(await next, 1);
    });
  });

  it("D2: limits the number of waiting calls", async () => {
    await withOdd(async (client, clock) => {
      const underWay = Array.from({ length: 64 }, () => client.call("never", undefined, { timeoutMs: 100 }));
      const waiting = Array.from({ length: 2 }, (_, at) => client.call("echo", at, { timeoutMs: 200 }));
      await assert.rejects(client.call("echo", 3), why("full"));
      clock.pass(100);
      for (const one of await Promise.allSettled(underWay)) assert.equal(one.status, "rejected");
      assert.deepEqual(await Promise.all(waiting), [0, 1]);
    }, 2);
  });

  it("fails pending and later calls after it was stopped", async () => {
    await withOdd(async (client) => {
      const never = assert.rejects(client.call("never", undefined), why("stopped"));
      await client.stop();
      await never;
      await assert.rejects(client.call("echo", 1), why("stopped"));
    });
  });

  it("I4: reads no XML on the calling thread", async () => {
    const clock = makeManualClock();
    const client = startIdentityWorker(plan(clock));
    try {
      const read = await client.call("saml.readIdpMetadata", { text: "<x/>", nowMs: 0 });
      assert.equal("refused" in read && read.refused.code, errorCode("saml_metadata"));
    } finally {
      await client.stop();
    }
  });
});
