/** Reads the changes of an account's objects from the history as events, from a stored position. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Job } from "../../storage/cluster/jobs.ts";
import type { Cursor, Store } from "../../storage/store.ts";
import type { Event, RenderEvent } from "./event/event.ts";
import type { EventQueue } from "./event-queue.ts";
import { eventTypeOf, kindsOf } from "./event/event-types.ts";

export interface ChangeQueueOptions {
  readonly store: Pick<Store, "feed" | "revision">;
  readonly clock: Clock;
  readonly render: RenderEvent;
  readonly accountId: string;
  /** Name of the stored position. */
  readonly name: string;
  readonly from: Cursor;
  readonly types: ReadonlySet<string>;
  /** Only the node that holds this job reads. */
  readonly job: Job;
}

const readAtOnce = 100;
/** How often the position is stored. */
const keepEveryMs = 1_000;
/** Sorts after every change of a revision. */
export const lastPosition: number = 2 ** 31 - 1;

export class ChangeQueue implements EventQueue {
  readonly ordered = true;
  readonly #options: ChangeQueueOptions;
  #types: ReadonlySet<string>;
  #kinds: readonly string[];
  #cursor: Cursor;
  /** The positions of the events that were read last, by event id. */
  #places: ReadonlyMap<string, Cursor> = new Map();
  #keeping: Timer | undefined;
  #closed = false;
  /** Whether the position includes the progress of the job's last holder. */
  #isOwn: boolean;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
    this.#cursor = options.from;
    this.#types = options.types;
    this.#kinds = kindsOf(options.types);
    this.#isOwn = options.job.isHeld();
    this.#keep();
  }

  /** Reads only these types from now on. */
  assign(types: ReadonlySet<string>): void {
    this.#types = types;
    this.#kinds = kindsOf(types);
  }

  isFor(kinds: ReadonlySet<string>): boolean {
    return this.#kinds.some((kind) => kinds.has(kind));
  }

  async read(): Promise<readonly Event[]> {
    const { store, render, accountId, name, job } = this.#options;
    if (!job.isHeld()) {
      this.#isOwn = false;
      return [];
    }
    if (!this.#isOwn) {
      this.#cursor = (await store.feed.cursors()).get(name) ?? this.#cursor;
      this.#isOwn = true;
      this.#keep();
    }
    for (;;) {
      const { revision } = store;
      const types = this.#types;
      const limit = { kinds: this.#kinds, limit: readAtOnce };
      const changes = this.#kinds.length === 0 ? [] : await store.feed.after(accountId, this.#cursor, limit);
      const places = new Map<string, Cursor>();
      const events: Event[] = [];
      for (const change of changes) {
        const type = eventTypeOf(change);
        if (type !== undefined && types.has(type)) events.push(render(accountId, type, change));
        // A change that makes no event is settled together with the event before it.
        const last = events.at(-1);
        if (last) places.set(last.id, change.at);
        else this.#cursor = change.at;
      }
      this.#places = places;
      if (events.length > 0) return events;
      if (changes.length > 0) continue;
      if (revision > this.#cursor.revision) this.#cursor = { revision, position: lastPosition };
      return [];
    }
  }

  settled(events: readonly Event[]): void {
    const last = events.at(-1);
    this.#cursor = (last && this.#places.get(last.id)) ?? this.#cursor;
    this.#keeping ??= this.#options.clock.after(keepEveryMs, () => this.#keep());
  }

  /** Stores or deletes the position. Called once reading has ended. */
  close(forget: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#keeping?.cancel();
    if (forget) this.#options.store.feed.keep(this.#options.name, undefined);
    else if (this.#isOwn && this.#options.job.isHeld()) this.#options.store.feed.keep(this.#options.name, this.#cursor);
    this.#options.job.end();
  }

  #keep(): void {
    this.#keeping = undefined;
    if (!this.#closed && this.#isOwn && this.#options.job.isHeld())
      this.#options.store.feed.keep(this.#options.name, this.#cursor);
  }
}
