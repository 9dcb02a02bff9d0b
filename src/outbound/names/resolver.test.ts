import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { NameError } from "./ask.ts";
import type { NameAnswer } from "./ask.ts";
import { makeNameResolver, usualLimits } from "./resolver.ts";
import type { ResolverLimits } from "./resolver.ts";

const v4 = (address: string) => ({ address, family: 4 });

/** Returns a resolver whose queries the test answers. */
function resolverWith(limits: Partial<ResolverLimits> = {}) {
  const clock = makeManualClock();
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<NameAnswer>>();
  const ask = (name: string): Promise<NameAnswer> => {
    asked.push(name);
    const answer = Promise.withResolvers<NameAnswer>();
    open.set(name, answer);
    return answer.promise;
  };
  const resolver = makeNameResolver(clock, ask, { ...usualLimits, ...limits });
  const resolve = (name: string, asker = "ac_1") => {
    const results: (string | Error)[] = [];
    const giveUp = resolver.resolve(name, asker, (found) => {
      results.push(found instanceof Error ? found : found.map(({ address }) => address).join());
    });
    return { results, giveUp };
  };
  const settled = () => new Promise((done) => setImmediate(done));
  return {
    clock,
    asked,
    resolve,
    async answer(name: string, addresses: readonly string[], ttlMs = 60_000) {
      open.get(name)?.resolve({ addresses: addresses.map(v4), ttlMs });
      await settled();
    },
    async fail(name: string, error: Error) {
      open.get(name)?.reject(error);
      await settled();
    },
  };
}

describe("the name resolver", () => {
  it("one query serves all callers of a name, and no query is sent while the answer is fresh", async () => {
    const { asked, resolve, answer, clock } = resolverWith();
    const callers = Array.from({ length: 20 }, (_, index) => resolve(index % 2 === 0 ? "a.test" : "A.Test"));
    await answer("a.test", ["192.0.2.1"]);
    for (const { results } of callers) assert.deepEqual(results, ["192.0.2.1"]);
    assert.deepEqual(resolve("a.test").results, ["192.0.2.1"]);
    assert.deepEqual(asked, ["a.test"]);
    clock.pass(60_000);
    resolve("a.test");
    assert.deepEqual(asked, ["a.test", "a.test"]);
  });

  it("other names resolve while one gets no answer", async () => {
    const { resolve, answer } = resolverWith();
    const silent = Array.from({ length: 100 }, () => resolve("silent.test"));
    const { results } = resolve("fine.test");
    await answer("fine.test", ["192.0.2.2"]);
    assert.deepEqual(results, ["192.0.2.2"]);
    assert.ok(silent.every((one) => one.results.length === 0));
  });

  it("a caller that cancels frees its slot, and the answer is cached for the next", async () => {
    const { asked, resolve, answer } = resolverWith({ waitingPerName: 1 });
    const first = resolve("a.test");
    first.giveUp();
    const second = resolve("a.test");
    await answer("a.test", ["192.0.2.1"]);
    assert.deepEqual([first.results, second.results, asked], [[], ["192.0.2.1"], ["a.test"]]);
  });

  it("D9: the callers of one name, the queries of one account and all queries are limited", async () => {
    const { asked, resolve, answer } = resolverWith({ waitingPerName: 2, queriesPerAsker: 2, queries: 3 });
    const refused = ({ results }: ReturnType<typeof resolve>): string => (results[0] as Error).message;
    resolve("a.test");
    resolve("a.test");
    assert.match(refused(resolve("a.test")), /"a.test": 2 requests already wait/);
    resolve("b.test");
    assert.match(refused(resolve("c.test")), /2 names are already being looked up for ac_1/);
    resolve("d.test", "ac_2");
    assert.match(refused(resolve("e.test", "ac_2")), /3 names are already being looked up/);
    await answer("a.test", ["192.0.2.1"]);
    assert.equal(resolve("c.test").results.length, 0);
    assert.deepEqual(asked, ["a.test", "b.test", "d.test", "c.test"]);
  });

  it("the number of cached answers is limited", async () => {
    const { asked, resolve, answer } = resolverWith({ cached: 2 });
    for (const name of ["a.test", "b.test", "c.test"]) {
      resolve(name);
      await answer(name, ["192.0.2.1"]);
    }
    for (const name of ["c.test", "b.test", "a.test"]) resolve(name);
    assert.deepEqual(asked, ["a.test", "b.test", "c.test", "a.test"]);
  });

  it("an answer expires after at most 5 minutes, and a failure after a second", async () => {
    const { asked, resolve, answer, fail, clock } = resolverWith();
    resolve("a.test");
    await answer("a.test", ["192.0.2.1"], 0);
    resolve("a.test");
    clock.pass(1_000);
    resolve("a.test");
    await answer("a.test", ["192.0.2.1"], 86_400_000);
    clock.pass(300_000);
    const failing = resolve("a.test");
    await fail("a.test", new NameError("EAI_AGAIN", "no answer"));
    assert.equal((failing.results[0] as NameError).code, "EAI_AGAIN");
    resolve("a.test");
    assert.equal(asked.length, 3);
    clock.pass(1_000);
    const absent = resolve("a.test");
    await fail("a.test", new NameError("ENOTFOUND", "no such host"));
    assert.equal((absent.results[0] as NameError).code, "ENOTFOUND");
    clock.pass(1_000);
    resolve("a.test");
    assert.equal(asked.length, 4);
  });

  it("the addresses of a name rotate", async () => {
    const { resolve, answer } = resolverWith();
    const { results } = resolve("a.test");
    await answer("a.test", ["192.0.2.1", "192.0.2.2"]);
    const next = [resolve("a.test"), resolve("a.test")].flatMap((one) => one.results);
    assert.deepEqual([...results, ...next], ["192.0.2.1,192.0.2.2", "192.0.2.2,192.0.2.1", "192.0.2.1,192.0.2.2"]);
  });
});
