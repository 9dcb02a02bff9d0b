/** Runs long work on a thread that also carries traffic: in short slices, between which other work runs. */
import { contain, letGo } from "./boundary.ts";

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

export function* oneAfterAnother<Result>(works: readonly Steps<Result>[]): Steps<readonly Result[]> {
  const results: Result[] = [];
  for (const work of works) results.push(yield* work);
  return results;
}

/** Runs one slice of a piece of work, and returns whether the work has ended. */
type Slice = () => boolean;

/** By owner. Each turn runs one slice; the owners take turns, and the work of one owner runs in order. */
const waiting = new Map<string, Slice[]>();

/** When the last slice ended, by `performance.now()`. */
let endedAt = 0;

/** Runs the steps in slices. @param owner owner of the work: one owner's work never delays another's for long */
export function runInSlices<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const slice = (): boolean => {
    const end = performance.now() + sliceMs;
    try {
      for (;;) {
        const { done, value } = steps.next();
        if (done) {
          resolve(value);
          return true;
        }
        if (performance.now() >= end) return false;
      }
    } catch (error) {
      reject(error as Error);
      return true;
    }
  };
  if (waiting.size === 0) setImmediate(runSlice);
  const own = waiting.get(owner);
  if (own) own.push(slice);
  else waiting.set(owner, [slice]);
  return promise;
}

function runSlice(): void {
  const [owner, slices] = waiting.entries().next().value as [string, Slice[]];
  waiting.delete(owner);
  if (slices[0]?.() === true) slices.shift();
  // Moves the owner behind the others.
  if (slices.length > 0) waiting.set(owner, slices);
  if (waiting.size === 0) return;
  endedAt = performance.now();
  setImmediate(runNextSlice);
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
    letGo(
      "message",
      promise.finally(() => this.#next()),
    );
  }

  #next(): void {
    this.#isBusy = false;
    while (!this.#isBusy) {
      const task = this.#waiting.shift();
      if (!task) return;
      contain("message", () => this.#run(task));
    }
  }
}
