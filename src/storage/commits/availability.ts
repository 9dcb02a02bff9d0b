/** Whether writes could be stored at the last attempt. Retries automatically after a failure, and logs changes. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Superseded, Unconnected } from "../database/database.ts";
import type { Store } from "../store.ts";

/** First delay before a retry after a failure, and the maximum delay between two retries. */
const firstTryMs = 1000;
const lastTryMs = 10_000;
/** The maximum delay while the database is silent. Writes get no answer from it until an attempt succeeds. */
const lastSilentTryMs = 2_000;
/** An attempt that took this long without reaching the database shows that callers should not wait for it. */
const slowMs = 1_000;
/** Interval of log entries while writes still fail. */
const reminderMs = 60_000;

export interface AvailabilityOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Tries to store something, and reports the result through `works` or `fails`. */
  readonly tryWrite: () => void;
}

/** Retries automatically. Otherwise only the next write would show that a database is available again. */
export class Availability {
  readonly #options: AvailabilityOptions;
  #condition: Store["condition"] = "open";
  #timer: Timer | undefined;
  #pauseMs = firstTryMs;
  #toldAt = 0;
  #stopped = false;
  #isSilent = false;

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  get condition(): Store["condition"] {
    return this.#condition;
  }

  /** Whether the database does not answer at all, as the last attempt has shown. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  works(): void {
    this.#isSilent = false;
    if (this.#condition !== "open") this.#options.log.info("storage works again");
    this.#condition = "open";
    this.#pauseMs = firstTryMs;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * @param isWrite whether a client's write failed; failed retries are logged only occasionally
   * @param tookMs duration of the attempt
   */
  fails(error: unknown, isWrite: boolean, tookMs: number): void {
    const { clock, log } = this.#options;
    this.#isSilent = tookMs >= slowMs && error instanceof Unconnected;
    this.#condition = error instanceof Superseded ? "superseded" : "unavailable";
    const now = clock.monotonic();
    if (isWrite || now - this.#toldAt >= reminderMs) {
      this.#toldAt = now;
      log.error(isWrite ? "writes could not be stored" : "writes still cannot be stored and are answered with 503", {
        error,
      });
    }
    this.tryLater();
  }

  /** Called if the start could not store anything and has already reported that. */
  startsUnavailable(): void {
    this.#condition = "unavailable";
    this.#toldAt = this.#options.clock.monotonic();
    this.tryLater();
  }

  tryLater(): void {
    if (this.#timer || this.#stopped || this.#condition !== "unavailable") return;
    const { clock, tryWrite } = this.#options;
    this.#timer = clock.after(this.#pauseMs, () => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#isSilent ? lastSilentTryMs : lastTryMs);
      tryWrite();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}
