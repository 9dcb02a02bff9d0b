/**
 * The history of this node's traffic: counts per minute, hour and day, in files of the data directory. Minutes are
 * written first. Hours are the sums of minutes, and days the sums of hours, so that a crash loses no more than the
 * minutes that were not yet written.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { PackedTally } from "../../lib/tally.ts";
import type { SeriesQuestion } from "../../routing/planes/edge-questions.ts";
import { openSeriesFiles } from "./files.ts";
import type { SeriesFiles } from "./files.ts";
import { days, floorTo, hours, levelOf, levels, minutes } from "./levels.ts";
import type { Level } from "./levels.ts";
import type { StoredStep } from "./series-lines.ts";
import { Merged, sumServices, trafficIn } from "./merged.ts";
import { pruneFiles, putSum, sumMinutes } from "./summing.ts";

export interface RollupsOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** How often counts are written to disk. A crash of the machine or process loses at most those. */
const writeEveryMs = 15_000;
const sumEveryMs = 60_000;
/** Maximum number of tallies that wait to be written. Beyond it, services are summed per account. */
const maxWaiting = 1_000;
/** Maximum number of minutes that wait while the disk cannot be written. */
const maxMinutes = 60;
/** A larger file of minutes is summed early. */
const maxMinuteBytes = 32 * 1024 * 1024;

export class Rollups {
  readonly #options: RollupsOptions;
  readonly #files: SeriesFiles;
  #waiting = makeWaiting();
  /** Files of minutes, and days, whose sums are not up to date: their start times. */
  readonly #openHours = new Set<number>();
  readonly #openDays = new Set<number>();
  #lost = 0;
  #isFailing = false;
  #work: Promise<unknown> = Promise.resolve();
  readonly #timers;

  constructor(options: RollupsOptions) {
    const { directory, clock, log, metrics } = options;
    this.#options = options;
    this.#files = openSeriesFiles(directory, log, metrics);
    metrics.counterOf(
      "postern_series_lost_total",
      "Requests and connections missing from the history of traffic because the disk could not be written.",
      () => this.#lost,
    );
    this.#timers = [
      clock.every(writeEveryMs, () =>
        runUnattended(
          "task",
          this.#inOrder(() => this.#write()),
        ),
      ),
      clock.every(sumEveryMs, () =>
        runUnattended(
          "task",
          this.#inOrder(() => this.#sumUp()),
        ),
      ),
    ];
    // Minutes of a previous run may not be summed yet.
    const opened = this.#inOrder(async () => {
      for (const file of await this.#files.list(minutes)) this.#open(file * minutes.fileMs);
      await this.#sumUp();
    });
    runUnattended("task", opened);
  }

  /** @param at when the traffic ended, milliseconds since 1970 */
  add(at: number, accountId: string, tallies: readonly PackedTally[]): void {
    this.#open(at);
    this.#waiting.add({ at, accountId, tallies });
  }

  /** Returns the steps with traffic, in order. */
  read(wanted: SeriesQuestion): Promise<readonly StoredStep[]> {
    const { since, until, stepMs, isByService, serviceId } = wanted;
    const level = levelOf(stepMs);
    return this.#inOrder(async () => {
      const merged = new Merged(stepMs, { services: level.maxServices });
      const found = await this.#stepsOf(level, since, until, wanted.accountId);
      const chosen = found.map((step) =>
        serviceId === undefined ? step : { ...step, tallies: step.tallies.filter(([id]) => id === serviceId) },
      );
      merged.addAll(isByService || serviceId !== undefined ? chosen : chosen.map(sumServices));
      return merged.steps();
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    await this.#inOrder(() => this.#write());
  }

  #open(at: number): void {
    this.#openHours.add(floorTo(at, hours.stepMs));
    this.#openDays.add(floorTo(at, days.stepMs));
  }

  /** Runs one piece of work at a time, so that no reader sees a step twice or not at all. */
  #inOrder<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#work.then(run);
    this.#work = result.catch(() => undefined);
    return result;
  }

  async #stepsOf(level: Level, since: number, until: number, accountId: string): Promise<readonly StoredStep[]> {
    const open = level === minutes ? new Set<number>() : level === hours ? this.#openHours : this.#openDays;
    const steps: StoredStep[] = [];
    for (let file = Math.floor(since / level.fileMs); file * level.fileMs < until; file += 1) {
      const read = await this.#files.read(level, file, accountId);
      steps.push(...read.filter(({ at }) => !open.has(at)));
    }
    const finer = levels[levels.indexOf(level) - 1];
    for (const at of open) {
      if (!finer || at < since || at >= until) continue;
      steps.push(...(await this.#stepsOf(finer, at, at + level.stepMs, accountId)));
    }
    if (level === minutes) steps.push(...this.#waiting.steps().filter((step) => step.accountId === accountId));
    return steps.filter(({ at }) => at >= since && at < until);
  }

  async #write(): Promise<void> {
    const steps = this.#waiting.steps();
    this.#waiting = makeWaiting();
    const byFile = Map.groupBy(steps, ({ at }) => Math.floor(at / minutes.fileMs));
    for (const [file, of] of byFile) {
      this.#open(file * minutes.fileMs);
      try {
        await this.#files.append(minutes, file, of);
        this.#isFailing = false;
        if ((await this.#files.size(minutes, file)) > maxMinuteBytes) await sumMinutes(this.#files, file);
      } catch (error) {
        this.#failed(error);
        for (const step of of) {
          if (this.#waiting.size < maxMinutes) this.#waiting.add(step);
          else this.#lost += trafficIn([step]);
        }
      }
    }
  }

  #failed(error: unknown): void {
    if (!this.#isFailing) this.#options.log.warn("history of traffic not written", { error });
    this.#isFailing = true;
  }

  async #sumUp(): Promise<void> {
    await this.#write();
    if (this.#isFailing) return;
    try {
      await this.#sumPast(this.#options.clock.now());
    } catch (error) {
      this.#failed(error);
    }
  }

  async #sumPast(now: number): Promise<void> {
    for (const hour of this.#openHours) {
      if (hour === floorTo(now, hours.stepMs)) continue;
      await putSum(this.#files, hours, hour, await sumMinutes(this.#files, Math.floor(hour / minutes.fileMs)));
      this.#openHours.delete(hour);
    }
    for (const day of this.#openDays) {
      const hasOpenHours = this.#openHours.values().some((hour) => floorTo(hour, days.stepMs) === day);
      if (day === floorTo(now, days.stepMs) || hasOpenHours) continue;
      await putSum(this.#files, days, day, await this.#files.read(hours, Math.floor(day / hours.fileMs)));
      this.#openDays.delete(day);
    }
    for (const level of levels) await pruneFiles(this.#files, level, now);
  }
}

function makeWaiting(): Merged {
  return new Merged(minutes.stepMs, { services: minutes.maxServices, tallies: maxWaiting });
}
