/**
 * What a thread shares with the thread that watches it: a beat that goes on as long as its event loop does, and the mark of
 * the work that it is at. Both are plain writes to shared memory, which need no event loop to be read.
 */

/** Bytes of a heart: the beat, and the mark of the present work. */
const heartBytes = 16;
const beatMs = 250;

export type Heart = SharedArrayBuffer;

export function newHeart(): Heart {
  return new SharedArrayBuffer(heartBytes);
}

/** Of this thread; nobody looks at it until `beat` has been called. */
let work = new Float64Array(newHeart(), 8, 1);

/** Lets the heart of this thread beat until it ends. Keeps no thread alive. */
export function beat(heart: Heart): void {
  const beats = new Int32Array(heart, 0, 1);
  work = new Float64Array(heart, 8, 1);
  setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref();
}

export function beatsOf(heart: Heart): number {
  return Atomics.load(new Int32Array(heart, 0, 1), 0);
}

/** The mark of what this thread works on from now on; 0 for nothing that could be refused. */
export function workOn(mark: number): void {
  work[0] = mark;
}

/**
 * Returns `run` for the time after a wait: while it runs, the thread works on what it works on now. Call it where the wait
 * begins.
 */
export function resumed<Given, Result>(run: (given: Given) => Result): (given: Given) => Result {
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
 * Returns a function for an async function that waits: `here(await promise)` notes the present work again for the code
 * after the wait, until other code runs. Call it before the first wait.
 */
export function sameWork(): <Value>(value: Value) => Value {
  const mark = work[0] as number;
  return (value) => {
    // Code without a mark may also run after a wait: it has noted nothing, and there is nothing to clear.
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
