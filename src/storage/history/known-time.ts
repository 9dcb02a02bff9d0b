/**
 * Evidence of the time besides the wall clock: the last time that the server stored, plus the time passed since on the
 * monotonic clock. Revisions are no evidence, because a write under a wrong clock has a wrong date.
 */
import type { Clock } from "../../lib/clock.ts";
import type { DatabaseStep } from "../database/database.ts";
import { renderPlaceholder } from "../database/insert.ts";
import type { Dialect } from "../database/insert.ts";
import { dayMs } from "../../lib/durations.ts";

/** Maximum age of the stored time, compared with the known one. */
const storeEveryMs = 6 * 60 * 60 * 1000;
/** A clock needs no confirmation for a tenth of the retention period. */
const part = 10;
/** Replaces `--history-days 0`, which prunes nothing. */
const usualDays = 365;

export class KnownTime {
  readonly #clock: Clock;
  readonly #toleranceMs: number;
  /** Difference between the known time and the monotonic clock. */
  #offset: number;
  #storedMs: number;

  /**
   * @param storedMs time in the database, or time of the newest revision if an earlier version stored none
   * @param confirmedMs time that the operator confirmed
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

  /** Whether `nowMs` is close enough to the known time for deletions. If so, it becomes the known time. */
  accepts(nowMs: number): boolean {
    const aheadMs = nowMs - this.now();
    if (aheadMs > this.#toleranceMs) return false;
    if (aheadMs > 0) this.#offset += aheadMs;
    return true;
  }

  /** Returns the steps that store the known time, if it is due. */
  steps(dialect: Dialect): readonly DatabaseStep[] {
    const nowMs = Math.round(this.now());
    if (nowMs - this.#storedMs < storeEveryMs) return [];
    this.#storedMs = nowMs;
    const sql =
      `insert into known_time (id, at_ms) values (1, ${renderPlaceholder(dialect, 0)}) ` +
      "on conflict (id) do update set at_ms = excluded.at_ms where known_time.at_ms < excluded.at_ms";
    return [{ sql, parameters: [nowMs] }];
  }
}
