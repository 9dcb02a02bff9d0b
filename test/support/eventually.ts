/** Waiting for what another thread, a process or a real delay brings about, and nothing tells of. */
import { setTimeout as delay } from "node:timers/promises";

const longestMs = 60_000;

/**
 * Asks until an answer fits, for a minute at most, and returns the last one. It pauses in between, since what is
 * waited for needs the processor as well.
 */
export async function eventually<Answer>(
  ask: () => Answer | Promise<Answer>,
  fits: (answer: Answer) => boolean,
  pauseMs = 10,
): Promise<Answer> {
  const end = performance.now() + longestMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer) || performance.now() > end) return answer;
    await delay(pauseMs);
  }
}
