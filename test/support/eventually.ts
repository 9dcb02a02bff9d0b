/** Waits for the effect of another thread, a process or a real delay that sends no event. */
import { AssertionError } from "node:assert";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

const longestMs = 60_000;

/**
 * Asks until an answer fits, and returns the answer. After a minute, fails with the expectation and the last answer.
 * Pauses between attempts, because the awaited code needs the processor as well.
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
