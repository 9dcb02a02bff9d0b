/** Random numbers for property tests: the same in every run. */
export interface Random {
  /** Returns a number from 0 inclusive to 1 exclusive. */
  (): number;
  /** Returns a whole number from 0 inclusive to `bound` exclusive. */
  below(bound: number): number;
  pick<T>(from: readonly T[]): T;
}

/** mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return Object.assign(next, {
    below: (bound: number) => Math.floor(next() * bound),
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T,
  });
}
