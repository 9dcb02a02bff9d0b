import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeExchangeTurns } from "./exchange-turns.ts";

describe("questions about requests at an edge", { timeout: 10_000 }, () => {
  it("G1: questions about requests at an edge are limited per account and in total until they are answered", async () => {
    const turns = makeExchangeTurns({ exchanges: 3, exchangesPerAccount: 2 });
    const open: PromiseWithResolvers<string>[] = [];
    const ask = (account: string): Promise<string> =>
      turns.take(account, () => {
        const answer = Promise.withResolvers<string>();
        open.push(answer);
        return answer.promise;
      });
    const busy = { reason: "exchange_busy" };
    const first = [ask("ac_1"), ask("ac_1")];
    await assert.rejects(ask("ac_1"), busy);
    const other = ask("ac_2");
    await assert.rejects(ask("ac_3"), busy);
    assert.equal(open.length, 3, "what is refused is not asked");
    open[0]?.resolve("one");
    assert.equal(await first[0], "one");
    open[1]?.reject(new Error("gone"));
    await assert.rejects(first[1] as Promise<string>, /gone/);
    const again = [ask("ac_1"), ask("ac_3")];
    await assert.rejects(ask("ac_2"), busy);
    for (const answer of open) answer.resolve("all");
    assert.deepEqual(await Promise.all([...again, other]), ["all", "all", "all"]);
  });
});
