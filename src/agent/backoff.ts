/** Longest pause between two attempts, milliseconds. */
export const maxPauseMs = 15_000;
/** The first pause, milliseconds. It is short because most outages are restarts. */
const firstPauseMs = 250;

/**
 * Returns the pause before attempt `failures + 1`, milliseconds. The pause doubles up to the maximum, and a random half
 * of it is dropped, so that agents that lost their connection together do not reconnect together.
 */
export function pauseMs(failures: number, random: () => number): number {
  const whole = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 16));
  return Math.round(whole / 2 + (whole / 2) * random());
}
