/**
 * Memory that a thread shares with the thread that watches it: a beat that continues while its event loop runs, and the
 * mark of its present work. Both are plain writes to shared memory, so reading them needs no event loop.
 */

/** Bytes of a heart: the beat, and the mark of the present work. */
const heartBytes = 16;
const beatMs = 250;

export type Heart = SharedArrayBuffer;

export function newHeart(): Heart {
  return new SharedArrayBuffer(heartBytes);
}

/** Mark of this thread. No other thread reads it before `startHeartbeat` is called. */
let work = new Float64Array(newHeart(), 8, 1);

/** Writes the beat of this thread until the thread ends. Does not keep the thread alive. */
export function startHeartbeat(heart: Heart): void {
  const beats = new Int32Array(heart, 0, 1);
  work = new Float64Array(heart, 8, 1);
  setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref();
}

export function beatsOf(heart: Heart): number {
  return Atomics.load(new Int32Array(heart, 0, 1), 0);
}

/** Sets the mark of this thread's present work; 0 if the work cannot be rejected. */
export function workOn(mark: number): void {
  work[0] = mark;
}

/**
 * Returns `run` for the time after a wait, and restores the present mark while it runs. Call this where the wait
 * begins.
 */
export function resumeMark<Given, Result>(run: (given: Given) => Result): (given: Given) => Result {
  const mark = work[0] as number;
  return (given) => {
    work[0] = mark;
    try {
      return run(given);
    } finally {
      work[0] = 0;
    }
  };
}

/**
 * Returns a function for an async function that waits: `here(await promise)` sets the present mark again for the code
 * after the wait, until other code runs. Call this before the first wait.
 */
export function captureWork(): <Value>(value: Value) => Value {
  const mark = work[0] as number;
  return (value) => {
    // Code without a mark may also run after a wait. It has set nothing, so nothing must be cleared.
    if (mark !== 0) {
      work[0] = mark;
      queueMicrotask(workOnNothing);
    }
    return value;
  };
}

function workOnNothing(): void {
  work[0] = 0;
}

export function workOf(heart: Heart): number {
  return new Float64Array(heart, 8, 1)[0] as number;
}
