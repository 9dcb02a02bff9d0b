import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { makeLog } from "./log.ts";
import type { Log } from "./log.ts";
import { phase, putOff } from "./turn.ts";

interface Kept {
  readonly log: Log;
  /** Returns the lines written since the last call. */
  lines(): Promise<Record<string, unknown>[]>;
  pass(milliseconds: number): void;
}

function keepLog(): Kept {
  let written = "";
  let now = 0;
  const log = makeLog({
    level: "info",
    format: "json",
    now: () => now,
    monotonic: () => now,
    write: (lines) => (written += lines),
  });
  return {
    log,
    async lines() {
      await turn();
      const lines = written.split("\n").filter((line) => line !== "");
      written = "";
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    pass: (milliseconds) => void (now += milliseconds),
  };
}

describe("the log", () => {
  it("the log writes lines of its level or above, with its bound fields", async () => {
    const { log, lines } = keepLog();
    log.debug("left out");
    log.with({ edge: "e_1" }).warn("broken", { error: new Error("outer", { cause: new Error("inner") }) });
    assert.deepEqual(await lines(), [
      { time: "1970-01-01T00:00:00.000Z", level: "warn", event: "broken", edge: "e_1", error: "outer: inner" },
    ]);
  });

  it("D10: the log limits the lines of one event, reports how many it left out, and continues with others", async () => {
    const { log, lines, pass } = keepLog();
    for (let count = 0; count < 5000; count += 1) log.info("refused");
    log.error("something else");
    const first = await lines();
    assert.equal(first.length, 1001);
    assert.equal(first.at(-1)?.["event"], "something else");
    pass(1000);
    for (let count = 0; count < 5000; count += 1) log.info("refused");
    const second = await lines();
    assert.equal(second.length, 100);
    assert.equal(second[0]?.["unlogged"], 4000);
    assert.equal("unlogged" in (second[1] ?? {}), false);
  });

  it("D10: the log limits the lines of one turn, whatever their events", async () => {
    const { log, lines } = keepLog();
    for (let count = 0; count < 20_000; count += 1) log.info(`event ${count % 100}`);
    const written = await lines();
    assert.equal(written.length, 10_001);
    assert.deepEqual([written.at(-1)?.["event"], written.at(-1)?.["dropped"]], ["log lines dropped", 10_000]);
    log.info("event 1");
    assert.equal((await lines()).length, 1);
  });

  it("the log writes after other deferred work of the turn, and in the order of the calls", async () => {
    const { log, lines } = keepLog();
    const done: string[] = [];
    log.info("first");
    putOff({ turn: () => void done.push("tunnel written") }, phase.tunnels);
    putOff({ turn: () => log.info(done.join()) }, phase.tunnels);
    const written = await lines();
    assert.deepEqual(
      written.map(({ event }) => event),
      ["first", "tunnel written"],
    );
  });

  it("the log reports a line that cannot be rendered, and writes the others", async () => {
    const { log, lines } = keepLog();
    log.info("odd", { count: 1n });
    log.info("even");
    const [odd, even] = await lines();
    assert.deepEqual([odd?.["event"], odd?.["of"], even?.["event"]], ["log line not made", "odd", "even"]);
  });
});
