/**
 * Evidence of the time besides the wall clock: the last time that the server stored, and the time that has passed since
 * by the monotonic clock. Revisions are no evidence: a write under a wrong clock has a wrong date.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Step } from "../database/database.ts";
import { placeholder } from "../database/insert.ts";
import type { Dialect } from "../database/insert.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** The stored time is at most this much older than the known one. */
const storeEveryMs = 6 * 60 * 60 * 1000;
/** For a tenth of the history that is kept, a clock needs no confirmation. */
const part = 10;
/** Stands for `--history-days 0`, which prunes nothing. */
const usualDays = 365;

export class KnownTime {
  readonly #clock: Clock;
  readonly #toleranceMs: number;
  /** Of the known time to the monotonic clock. */
  #offset: number;
  #storedMs: number;

  /**
   * @param storedMs the time in the database, or that of the newest revision where an earlier version has stored none
   * @param confirmedMs what the operator has confirmed
   */
  constructor(clock: Clock, keptDays: number, storedMs: number | undefined, confirmedMs = 0) {
    this.#clock = clock;
    this.#toleranceMs = Math.max(1, (keptDays === 0 ? usualDays : keptDays) / part) * dayMs;
    this.#storedMs = storedMs ?? 0;
    this.#offset = Math.max(storedMs ?? clock.now(), confirmedMs) - clock.monotonic();
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#clock.monotonic() + this.#offset;
  }

  /** Whether `nowMs` is close enough to the known time to delete by it; it is then the known time. */
  accepts(nowMs: number): boolean {
    const aheadMs = nowMs - this.now();
    if (aheadMs > this.#toleranceMs) return false;
    if (aheadMs > 0) this.#offset += aheadMs;
    return true;
  }

  /** What stores the known time, now and then. */
  steps(dialect: Dialect): readonly Step[] {
    const nowMs = Math.round(this.now());
    if (nowMs - this.#storedMs < storeEveryMs) return [];
    this.#storedMs = nowMs;
    const sql =
      `insert into known_time (id, at_ms) values (1, ${placeholder(dialect, 0)}) ` +
      "on conflict (id) do update set at_ms = excluded.at_ms where known_time.at_ms < excluded.at_ms";
    return [{ sql, parameters: [nowMs] }];
  }
}
