/** Longest pause between two attempts, milliseconds. */
export const maxPauseMs = 15_000;
/** The first pause; short, since most outages are restarts. */
const firstPauseMs = 250;

/**
 * The pause before attempt `failures + 1`, milliseconds: doubling up to the cap, and of that a random share from
 * half to all, so that agents cut off together do not come back together.
 */
export function pauseMs(failures: number, random: () => number): number {
  const whole = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 16));
  return Math.round(whole / 2 + (whole / 2) * random());
}
