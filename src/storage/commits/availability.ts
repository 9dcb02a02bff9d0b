/** Whether writes can be stored, as was last seen: tried again by itself when they could not, and said in the log. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Superseded } from "../database/database.ts";
import type { Store } from "../store.ts";

/** After a failure: when it is tried whether writes can be stored again, and how long at most between two tries. */
const firstTryMs = 1000;
const lastTryMs = 10_000;
/** How often the log is told that they still cannot. */
const reminderMs = 60_000;

export interface AvailabilityOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Tries to store something, and says what came of it by `works` or `fails`. */
  readonly tryWrite: () => void;
}

/** Without tries of its own, nobody would know when a database is back until the next write. */
export class Availability {
  readonly #options: AvailabilityOptions;
  #condition: Store["condition"] = "open";
  #timer: Timer | undefined;
  #pauseMs = firstTryMs;
  #toldAt = 0;
  #stopped = false;

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  get condition(): Store["condition"] {
    return this.#condition;
  }

  works(): void {
    if (this.#condition !== "open") this.#options.log.info("storage works again");
    this.#condition = "open";
    this.#pauseMs = firstTryMs;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** @param isWrite somebody's write failed; else it was a try, of which the log is told only now and then */
  fails(error: unknown, isWrite: boolean): void {
    const { clock, log } = this.#options;
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

  /** From the beginning: the start could not store anything, and has said so. */
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
      this.#pauseMs = Math.min(this.#pauseMs * 2, lastTryMs);
      tryWrite();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}
