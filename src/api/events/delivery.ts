/** Delivery to one destination: in the order of the changes, at least once, each tried again for a day. */
import { timestamp } from "../../lib/clock.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Cursor, Store, StoredObject } from "../../storage/store.ts";
import type { Event, RenderEvent } from "./event.ts";
import { eventTypeOf } from "./types.ts";

export interface DeliverySurroundings {
  readonly store: Pick<Store, "feed" | "revision">;
  readonly clock: Clock;
  readonly log: Log;
  readonly render: RenderEvent;
  /** Resolves once the target has taken the event. */
  send(destination: StoredObject, event: Event): Promise<void>;
}

/** What is sent where. */
export interface Assignment {
  readonly destination: StoredObject;
  readonly types: ReadonlySet<string>;
  readonly kinds: readonly string[];
}

const readAtOnce = 100;
const firstPauseMs = 1_000;
const longestPauseMs = 10 * 60_000;
/** An older event is given up. */
const lifeMs = 24 * 60 * 60_000;
/** How often the place in the history is kept. */
const keepEveryMs = 1_000;
/** Behind every change of a revision. */
const lastPosition = 2 ** 31 - 1;
const maxErrorLength = 500;

export class Delivery {
  readonly #with: DeliverySurroundings;
  readonly #done: Promise<void>;
  #assignment: Assignment;
  #cursor: Cursor;
  #stopped = false;
  #changed = true;
  #resume: (() => void) | undefined;
  #pause: Timer | undefined;
  #keeping: Timer | undefined;
  #status = { state: "idle", error: "", last_delivered_at: null as string | null, delivered: 0, dropped: 0 };

  constructor(surroundings: DeliverySurroundings, assignment: Assignment, from: Cursor) {
    this.#with = surroundings;
    this.#assignment = assignment;
    this.#cursor = from;
    this.#keep();
    this.#done = this.#run();
  }

  get status(): Doc {
    return { ...this.#status };
  }

  /** There may be something to deliver. */
  wake(): void {
    this.#changed = true;
    if (!this.#pause) this.#resume?.();
  }

  /** Delivers something else, or elsewhere, from now on; what waits for another try is tried at once. */
  assign(assignment: Assignment): void {
    this.#assignment = assignment;
    this.#changed = true;
    this.#resume?.();
  }

  isFor(kinds: ReadonlySet<string>): boolean {
    return this.#assignment.kinds.some((kind) => kinds.has(kind));
  }

  /** Resolves when nothing is under way any more; the place in the history is kept unless `forget`. */
  async stop(forget: boolean): Promise<void> {
    const { feed } = this.#with.store;
    this.#stopped = true;
    this.#keeping?.cancel();
    // At once: its successor may keep a place of its own before the last attempt ends.
    if (forget) feed.keep(this.#name, undefined);
    this.#resume?.();
    await this.#done;
    if (!forget) feed.keep(this.#name, this.#cursor);
  }

  get #name(): string {
    return `events ${this.#assignment.destination.id}`;
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopped;) {
      this.#changed = false;
      try {
        if (!(await this.#deliverSome())) await this.#wait(undefined);
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#with.log.warn("events could not be read", { destination: this.#assignment.destination.id, error });
        await this.#wait(pauseAfter(failures));
      }
    }
  }

  /** Returns whether there was anything to deliver. */
  async #deliverSome(): Promise<boolean> {
    const { store, render } = this.#with;
    const { destination, kinds, types } = this.#assignment;
    const accountId = destination.account_id;
    const { revision } = store;
    const changes = await store.feed.after(accountId, this.#cursor, { kinds, limit: readAtOnce });
    for (const change of changes) {
      const type = eventTypeOf(change);
      if (type !== undefined && types.has(type)) await this.#deliver(render(accountId, type, change));
      if (this.#stopped) return true;
      this.#cursor = change.at;
      this.#keepSoon();
    }
    if (changes.length > 0) return true;
    this.#status.state = "idle";
    if (revision > this.#cursor.revision) this.#cursor = { revision, position: lastPosition };
    return false;
  }

  async #deliver(event: Event): Promise<void> {
    const { clock, log } = this.#with;
    const status = this.#status;
    status.state = status.error === "" ? "delivering" : "retrying";
    for (let attempts = 1; !this.#stopped; attempts += 1) {
      try {
        await this.#with.send(this.#assignment.destination, event);
        status.delivered += 1;
        status.last_delivered_at = timestamp(clock.now());
        status.error = "";
        return;
      } catch (error) {
        const { id } = this.#assignment.destination;
        status.error = (error as Error).message.slice(0, maxErrorLength);
        if (clock.now() - Date.parse(event.time) > lifeMs) {
          status.dropped += 1;
          log.warn("an event was given up", { destination: id, event: event.id, error });
          return;
        }
        if (attempts === 1) log.warn("an event could not be delivered", { destination: id, event: event.id, error });
        status.state = "retrying";
        await this.#wait(pauseAfter(attempts));
      }
    }
  }

  /** Until something changes; or, with a pause, until that is over or the assignment changes. */
  async #wait(pauseMs: number | undefined): Promise<void> {
    if (this.#stopped || (pauseMs === undefined && this.#changed)) return;
    await new Promise<void>((resume) => {
      this.#resume = resume;
      if (pauseMs !== undefined) this.#pause = this.#with.clock.after(pauseMs, resume);
    });
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#resume = undefined;
  }

  #keepSoon(): void {
    this.#keeping ??= this.#with.clock.after(keepEveryMs, () => this.#keep());
  }

  #keep(): void {
    this.#keeping = undefined;
    if (!this.#stopped) this.#with.store.feed.keep(this.#name, this.#cursor);
  }
}

/** Doubling, with jitter so that many do not come back together. */
function pauseAfter(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
}
