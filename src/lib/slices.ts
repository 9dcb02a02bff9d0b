/** Runs long work on a thread that also carries traffic: in short slices, between which other work runs. */
import { runContained, endUnit, runUnattended } from "./boundary.ts";
import type { Unit } from "./boundary.ts";

/** Work that yields at points where other work may run. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** After this time, no further step begins in the same turn. */
const sliceMs = 1;

/**
 * Pause after a slice, milliseconds, while the thread has other work. A request needs several turns of the event loop,
 * so a slice in every turn would delay each request several times.
 */
const pauseMs = 2;

/** A turn without other work takes less time, milliseconds. */
const idleTurnMs = 0.2;

export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export function* runInSequence<Result>(works: readonly Steps<Result>[]): Steps<readonly Result[]> {
  const results: Result[] = [];
  for (const work of works) results.push(yield* work);
  return results;
}

/** A piece of work. If a slice throws, `broke` is called, and the work has ended. */
export interface SlicedWork extends Unit {
  /** Runs one slice, and returns whether the work has ended. */
  slice(): boolean;
}

/** By owner. Each turn runs one slice; the owners take turns, and the work of one owner runs in order. */
const waiting = new Map<string, SlicedWork[]>();

/** When the last slice ended, by `performance.now()`. */
let endedAt = 0;

/** Runs the steps in slices. @param owner see `addWork` */
export function runInSlices<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const slice = (): boolean => {
    const end = performance.now() + sliceMs;
    for (;;) {
      const { done, value } = steps.next();
      if (done) {
        resolve(value);
        return true;
      }
      if (performance.now() >= end) return false;
    }
  };
  addWork(owner, { slice, broke: reject });
  return promise;
}

/** Runs the slices of `work`. @param owner owner of the work: one owner's work never delays another's for long */
export function addWork(owner: string, work: SlicedWork): void {
  if (waiting.size === 0) setImmediate(runSlice);
  const own = waiting.get(owner);
  if (own) own.push(work);
  else waiting.set(owner, [work]);
}

/** Requests of the connection that this thread reads at the moment, and when the second of them began. */
const share = { requests: 0, began: 0 };

/**
 * Begins the share of one connection in this turn. The requests that it sent at once occupy the thread for one slice at
 * most; the others run in further slices. Most connections have one request in a turn, which costs no look at the clock.
 */
export function beginShare(): void {
  share.requests = 0;
}

/** Counts a request that has run. Returns whether the share is used up. */
export function spendShare(): boolean {
  share.requests += 1;
  if (share.requests < 2) return false;
  const now = performance.now();
  if (share.requests === 2) share.began = now;
  return now - share.began >= sliceMs;
}

function runSlice(): void {
  const [owner, works] = waiting.entries().next().value as [string, [SlicedWork, ...SlicedWork[]]];
  if (hasEnded(works[0])) works.shift();
  waiting.delete(owner);
  // Moves the owner behind the others.
  if (works.length > 0) waiting.set(owner, works);
  if (waiting.size === 0) return;
  endedAt = performance.now();
  setImmediate(runNextSlice);
}

function hasEnded(work: SlicedWork): boolean {
  try {
    return work.slice();
  } catch (error) {
    endUnit("task", work, error);
    return true;
  }
}

/** Runs the next slice now if the turn had no other work, and after a pause if it had. */
function runNextSlice(): void {
  if (performance.now() - endedAt < idleTurnMs) runSlice();
  else setTimeout(runSlice, pauseMs);
}

/** Runs tasks in the order in which they were added. A task that returns a promise delays the tasks after it. */
export class InOrder {
  #waiting: (() => Promise<void> | undefined)[] = [];
  #isBusy = false;

  add(task: () => Promise<void> | undefined): void {
    if (this.#isBusy) this.#waiting.push(task);
    else this.#run(task);
  }

  #run(task: () => Promise<void> | undefined): void {
    const promise = task();
    if (!promise) return;
    this.#isBusy = true;
    runUnattended(
      "message",
      promise.finally(() => this.#next()),
    );
  }

  #next(): void {
    this.#isBusy = false;
    while (!this.#isBusy) {
      const task = this.#waiting.shift();
      if (!task) return;
      runContained("message", () => this.#run(task));
    }
  }
}
