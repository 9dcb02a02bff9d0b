/** Waiting for what another thread, a process or a real delay brings about, and nothing tells of. */
import { AssertionError } from "node:assert";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

const longestMs = 60_000;

/**
 * Asks until an answer fits, and returns it; fails after a minute, with what it waited for and the last answer. It pauses
 * in between, since what is waited for needs the processor as well.
 */
export async function eventually<Answer>(
  ask: () => Answer | Promise<Answer>,
  fits: (answer: Answer) => boolean,
  pauseMs = 10,
): Promise<Answer> {
  const end = performance.now() + longestMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (performance.now() > end) {
      const message = `nothing fitted ${fits.toString()} in ${longestMs / 1000} s; the last answer: ${inspect(answer)}`;
      throw new AssertionError({ message, actual: answer, stackStartFn: eventually });
    }
    await delay(pauseMs);
  }
}
