import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { DurationTally } from "../../lib/tally.ts";
import type { PackedTally } from "../../lib/tally.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import type { ManualClock } from "../../../test/support/clock.ts";
import { Rollups } from "./rollups.ts";

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.parse("2026-03-01T10:30:00Z");

let directory: string;
let clock: ManualClock;
let metrics = makeMetrics();
let warnings: string[] = [];

const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
const open = (): Rollups => new Rollups({ directory, clock, log, metrics });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "postern-series-"));
  clock = makeManualClock(start);
  metrics = makeMetrics();
  warnings = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function requests(count: number, serviceId = "s1"): PackedTally {
  const tally = new DurationTally();
  tally.count("requests", count);
  return tally.pack(serviceId);
}

const read = (rollups: Rollups, stepMs: number, since: number, until: number, isByService = false) =>
  rollups.read({ name: "series", accountId: "ac", since, until, stepMs, isByService });

async function total(rollups: Rollups, stepMs: number, since = 0, until = start + 400 * day): Promise<number> {
  const low = Math.max(0, Math.floor(since / stepMs) * stepMs);
  const steps = await read(rollups, stepMs, low, until);
  return steps.reduce((sum, { tallies }) => sum + tallies.reduce((all, [, , [count = 0]]) => all + count, 0), 0);
}

/** Advances the time. The timers run once. */
async function advance(rollups: Rollups, milliseconds: number): Promise<void> {
  clock.step(milliseconds - 60_000);
  clock.pass(60_000);
  await total(rollups, day, clock.now(), clock.now() + 1);
}

const recent = (rollups: Rollups, stepMs: number) =>
  total(rollups, stepMs, clock.now() - 3 * day, clock.now() + 2 * day);

describe("the rollups of a node's traffic", () => {
  it("rollups sum minutes into hours and days, with the same totals at every step", async () => {
    const rollups = open();
    for (let at = 0; at < 30 * 60; at += 7) {
      rollups.add(clock.now(), "ac", [requests(2)]);
      await advance(rollups, 7 * 60_000);
    }
    const sent = Math.ceil((30 * 60) / 7) * 2;
    for (const step of [60_000, 600_000, hour, 6 * hour, day]) assert.equal(await recent(rollups, step), sent);
    await rollups.stop();
    const again = open();
    for (const step of [60_000, hour, day]) assert.equal(await recent(again, step), sent);
    await again.stop();
  });

  it("rollups keep what was written before a crash, and skip and report a damaged file or line", async () => {
    const rollups = open();
    rollups.add(clock.now(), "ac", [requests(5)]);
    await advance(rollups, 60_000);
    assert.equal(await recent(rollups, 60_000), 5);
    rollups.add(clock.now(), "ac", [requests(3)]);
    await advance(rollups, 60_000);
    assert.equal(await recent(rollups, 60_000), 8);
    const [file = ""] = readdirSync(directory).filter((name) => name.startsWith("minute-"));
    const path = join(directory, file);
    writeFileSync(path, readFileSync(path, "utf8").replace('"s1","",[5,', '"s1","",[9,'));
    appendFileSync(path, "\n0123abcd 177");
    metrics = makeMetrics();
    const next = open();
    assert.equal(await recent(next, 60_000), 3);
    assert.deepEqual(warnings, ["damaged lines in the history of traffic skipped"]);
    assert.match(metrics.render(), /postern_series_damaged_lines_total 2\n/);
    next.add(clock.now(), "ac", [requests(1)]);
    await next.stop();
    assert.equal(await recent(open(), 60_000), 4);
    writeFileSync(path, Buffer.from([0, 255, 10, 0, 7]));
    assert.equal(await recent(open(), 60_000), 0);
  });

  it("rollups keep an hour's stored sum when the file of its minutes is damaged later", async () => {
    const rollups = open();
    rollups.add(clock.now(), "ac", [requests(5)]);
    await advance(rollups, hour);
    assert.equal(await recent(rollups, hour), 5);
    await rollups.stop();
    const [file = ""] = readdirSync(directory).filter((name) => name.startsWith("minute-"));
    writeFileSync(join(directory, file), "damaged");
    const next = open();
    assert.equal(await recent(next, hour), 5);
    await next.stop();
  });

  it("D10: rollups keep counts in memory while the disk cannot be written, and lose none when it recovers", async () => {
    rmSync(directory, { recursive: true });
    writeFileSync(directory, "not a folder");
    const rollups = open();
    for (const count of [5, 3]) {
      rollups.add(clock.now(), "ac", [requests(count)]);
      await advance(rollups, 60_000);
    }
    assert.equal(await recent(rollups, 60_000), 8);
    assert.equal(warnings.filter((event) => event === "history of traffic not written").length, 1);
    rmSync(directory);
    await advance(rollups, 60_000);
    await rollups.stop();
    assert.equal(await recent(open(), 60_000), 8);
    assert.match(metrics.render(), /postern_series_lost_total 0\n/);
  });

  it("D10: rollups bound what waits for the disk: services become one sum, and minutes beyond 60 are counted as lost", async () => {
    rmSync(directory, { recursive: true });
    writeFileSync(directory, "not a folder");
    const rollups = open();
    for (let at = 0; at < 5_000; at += 1) rollups.add(clock.now(), `ac${at % 50}`, [requests(1, `s${at}`)]);
    const { length } = (
      await rollups.read({
        name: "series",
        accountId: "ac7",
        since: start - hour,
        until: start + day,
        stepMs: 60_000,
        isByService: true,
      })
    ).flatMap(({ tallies }) => tallies);
    assert.equal(length, 21, "an account has its share of 1,000 services, and the sum of the others");
    for (let at = 0; at < 70; at += 1) {
      clock.step(60_000);
      rollups.add(clock.now(), "ac", [requests(1)]);
    }
    await advance(rollups, 60_000);
    const lost = Number(/postern_series_lost_total (\d+)\n/.exec(metrics.render())?.[1]);
    assert.ok(lost > 0 && lost < 20, String(lost));
    await rollups.stop();
  });

  it("rollups keep the true history when the clock jumps a year ahead and back", async () => {
    const rollups = open();
    rollups.add(clock.now(), "ac", [requests(5)]);
    await advance(rollups, 2 * hour);
    rollups.add(clock.now() + 365 * day, "ac", [requests(100)]);
    await advance(rollups, 60_000);
    rollups.add(clock.now() - hour, "ac", [requests(2)]);
    await advance(rollups, hour);
    for (const step of [60_000, hour, day]) {
      assert.equal(await recent(rollups, step), 7);
      assert.equal(await total(rollups, step, clock.now() + 360 * day, clock.now() + 370 * day), 100);
    }
    await rollups.stop();
  });

  it("rollups sum services beyond the limit as one, the least busy ones first, and lose no request", async () => {
    const rollups = open();
    const most = 150;
    for (let at = 0; at < most; at += 1)
      rollups.add(clock.now() + (at % 2) * 60_000, "ac", [requests(at + 1, `s${at}`)]);
    const [since, until] = [Math.floor(start / hour) * hour, Math.floor(start / hour) * hour + hour];
    const [step] = await read(rollups, hour, since, until, true);
    assert.equal(step?.tallies.length, 101);
    const byId = new Map(step?.tallies.map(([id, , [count]]) => [id, count]));
    assert.equal(byId.get("s149"), 150);
    assert.equal(byId.get("s0"), undefined);
    assert.equal(await recent(rollups, hour), (most * (most + 1)) / 2);
    await rollups.stop();
  });

  it("rollups delete old files: the disk holds 49 hours of minutes, 36 days of hours", async () => {
    const rollups = open();
    for (let at = 0; at < 60 * 24; at += 6) {
      rollups.add(clock.now(), "ac", [requests(1)]);
      await advance(rollups, 6 * hour);
    }
    assert.equal(await total(rollups, day, start - day, clock.now() + day), 240);
    const names = readdirSync(directory);
    const count = (level: string): number => names.filter((name) => name.startsWith(level)).length;
    assert.deepEqual([count("minute-"), count("hour-")], [49, 36]);
    assert.ok(count("day-") <= 4);
    await rollups.stop();
  });
});
