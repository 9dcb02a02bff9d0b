/** Gets the history of this node's traffic from its control plane, for another node. */
import type { Clock } from "../../lib/clock.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { SeriesAnswer, SeriesQuestion } from "../../routing/planes/edge-questions.ts";

export interface OwnSeries {
  /** Rejects if the control plane does not answer. */
  ask(question: SeriesQuestion): Promise<SeriesAnswer>;
  /** Receives the control plane's answer to `call`. */
  found(call: number, answer: SeriesAnswer | undefined): void;
}

/** Shorter than the time that the other node waits. */
const answerMs = 8_000;
const maxWaiting = 64;

export function makeOwnSeries(report: (message: Upward) => void, clock: Clock): OwnSeries {
  const waiting = new Map<number, (answer: SeriesAnswer | undefined) => void>();
  let lastCall = 0;
  return {
    async ask(question) {
      if (waiting.size >= maxWaiting) throw new Error("too many questions wait for the control plane");
      const call = (lastCall += 1);
      const { promise, resolve } = Promise.withResolvers<SeriesAnswer | undefined>();
      const timer = clock.after(answerMs, () => resolve(undefined));
      waiting.set(call, resolve);
      report({ type: "series_wanted", call, question });
      const answer = await promise;
      timer.cancel();
      waiting.delete(call);
      if (!answer) throw new Error("the control plane does not have the history of traffic");
      return answer;
    },
    found: (call, answer) => waiting.get(call)?.(answer),
  };
}
