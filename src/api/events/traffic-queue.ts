import type { Event } from "./event/event.ts";
import type { EventQueue } from "./event-queue.ts";

/** Maximum number of events that wait for one destination. Beyond it, the oldest are dropped. */
const maxWaiting = 5_000;
const readAtOnce = 1_000;

/** Queue of traffic events. They are stored in memory only, the latest ones. */
export class TrafficQueue implements EventQueue {
  readonly ordered = false;
  readonly #dropped: (count: number) => void;
  #waiting: Event[] = [];

  /** @param dropped called with the number of events that were dropped to make room */
  constructor(dropped: (count: number) => void) {
    this.#dropped = dropped;
  }

  put(events: readonly Event[]): void {
    this.#waiting.push(...events);
    const excess = this.#waiting.length - maxWaiting;
    if (excess <= 0) return;
    this.#waiting.splice(0, excess);
    this.#dropped(excess);
  }

  read(): Promise<readonly Event[]> {
    return Promise.resolve(this.#waiting.splice(0, readAtOnce));
  }

  settled(): void {}
}
