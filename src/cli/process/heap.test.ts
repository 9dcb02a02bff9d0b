import assert from "node:assert/strict";
import { once } from "node:events";
import { it } from "node:test";
import { Worker } from "node:worker_threads";

const mebibyte = 2 ** 20;

interface Heaps {
  readonly before: number;
  readonly after: number;
}

/**
 * What the heap of a thread holds when so many MiB of its start are garbage, and what once it has done that: it `works`
 * meanwhile, `waits for less`, or `waits` for as long.
 */
async function heapsOf(garbageMiB: number, then: "works" | "waits" | "waits for less"): Promise<Heaps> {
  const heap = JSON.stringify(new URL("heap.ts", import.meta.url).href);
  const body = `
    import { getHeapStatistics } from "node:v8";
    import { parentPort } from "node:worker_threads";
    import { giveHeapsRoom, giveStartBack } from ${heap};
    giveHeapsRoom();
    let start = Array.from({ length: ${garbageMiB} * 2 ** 14 }, (_, at) => ({ at, text: [at, at, at] }));
    start = undefined;
    const held = () => getHeapStatistics().total_heap_size;
    const before = held();
    setImmediate(() => {
      giveStartBack(300);
      const until = performance.now() + ${then === "works" ? 300 : 0};
      while (performance.now() < until);
      const look = () => {
        if (${then === "waits for less"} && held() >= before) setTimeout(look, 50);
        else parentPort.postMessage({ before, after: held() });
      };
      setTimeout(look, 300);
    });`;
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(body)}`));
  const [heaps] = (await once(thread, "message")) as [Heaps];
  await once(thread, "exit");
  return heaps;
}

it("a thread with little to do gives back what its start has left behind", async () => {
  const { before, after } = await heapsOf(16, "waits for less");
  assert.ok(before > 16 * mebibyte, String(before));
  assert.ok(after < 12 * mebibyte, String(after));
});

it("a thread that works is not held up by a look at its heap", async () => {
  const { before, after } = await heapsOf(16, "works");
  assert.ok(after >= before, `${before}, ${after}`);
});

it("a thread whose heap is large is not held up by a look at all of it", async () => {
  const { before, after } = await heapsOf(64, "waits");
  assert.ok(before > 64 * mebibyte, String(before));
  assert.ok(after >= before, `${before}, ${after}`);
});
