/** Response hooks that take time: the upstream's bytes wait meanwhile, complete and in order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { passStep } from "../../src/traffic/step.ts";
import type { Step } from "../../src/traffic/step.ts";
import { answering, eventually, ok, withFront } from "../support/front.ts";

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a.example.com\r\n\r\n`;

/** A hook that decides when the test releases it. */
function slow(): {
  readonly module: CompiledModule;
  readonly decide: (step: Step) => void;
  readonly asked: () => number;
} {
  let waiting: ((step: Step) => void)[] = [];
  let asked = 0;
  return {
    module: {
      response: () => {
        asked += 1;
        return new Promise<Step>((resolve) => waiting.push(resolve));
      },
    },
    decide(step) {
      const all = waiting;
      waiting = [];
      for (const one of all) one(step);
    },
    asked: () => asked,
  };
}

describe("a slow response hook", () => {
  it("holds the response back, and loses nothing of it", async () => {
    const hook = slow();
    const body = "x".repeat(300_000);
    await withFront(answering(ok(body)), { modules: [hook.module] }, async (_front, client) => {
      client.send(get("/one"));
      await eventually(() => hook.asked() === 1);
      assert.equal(client.received, "");
      hook.decide(passStep("slow", "decided"));
      const received = await client.until(body);
      assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
      client.clear().send(get("/two"));
      await eventually(() => hook.asked() === 2);
      hook.decide(passStep("slow", "decided"));
      await client.until(body);
    });
  });

  it("a slow response hook may replace the response", async () => {
    const hook = slow();
    await withFront(answering(ok("secret")), { modules: [hook.module] }, async (_front, client) => {
      client.send(get("/"));
      await eventually(() => hook.asked() === 1);
      const answer = { status: 418, headers: {}, body: "short" };
      hook.decide({ by: "slow", outcome: "answered", reason: "answered", answer });
      const received = await client.until("short");
      assert.match(received, /^HTTP\/1\.1 418 /);
      assert.doesNotMatch(received, /secret/);
    });
  });

  it("decides nothing after the client disconnected", async () => {
    const hook = slow();
    await withFront(answering(ok("late")), { modules: [hook.module] }, async (front, client) => {
      client.send(get("/"));
      await eventually(() => hook.asked() === 1);
      client.socket.destroy();
      await eventually(() => front.finished.length === 1);
      hook.decide(passStep("slow", "decided"));
      await eventually(() => front.context.counters.openExchanges === 0);
    });
  });

  it("a slow response hook that fails closes its route, and its request gets 500", async () => {
    const module: CompiledModule = { response: () => Promise.reject(new Error("broken")) };
    await withFront(answering(ok("secret")), { modules: [module] }, async (_front, client) => {
      const received = await client.send(get("/")).until(errorCode("route_broken"));
      assert.match(received, /^HTTP\/1\.1 500 /);
      assert.doesNotMatch(received, /secret/);
    });
  });
});
