/** Hands webhooks to the control plane, which stores them. The exchange waits for the answer, never the thread. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { Inbox, InboxOutcome } from "../../traffic/inbox.ts";

/** Maximum time to wait for the storage. The provider then repeats the webhook. */
const waitMs = 10_000;
/** Maximum number of body bytes that wait for the storage. */
const maxWaitingBytes = 64 * 1024 * 1024;
const maxWaiting = 10_000;

export interface InboxLine extends Inbox {
  stored(call: number, outcome: InboxOutcome): void;
  /** Whether the control plane can be reached. If not, everything that waits is refused. */
  reachable(isReachable: boolean): void;
}

interface Waiting {
  readonly resolve: (outcome: InboxOutcome) => void;
  readonly bytes: number;
  readonly late: Timer;
}

export function makeInboxLine(send: (message: Upward) => void, clock: Clock): InboxLine {
  const waiting = new Map<number, Waiting>();
  let waitingBytes = 0;
  let lastCall = 0;
  let isReachable = false;
  const settle = (call: number, outcome: InboxOutcome): void => {
    const one = waiting.get(call);
    if (one === undefined) return;
    waiting.delete(call);
    waitingBytes -= one.bytes;
    one.late.cancel();
    one.resolve(outcome);
  };
  return {
    put(message, body) {
      const bytes = body.length;
      if (!isReachable || waiting.size >= maxWaiting || waitingBytes + bytes > maxWaitingBytes) {
        return Promise.resolve("unavailable");
      }
      const call = (lastCall += 1);
      return new Promise((resolve) => {
        const late = clock.after(waitMs, () => settle(call, "unavailable"));
        waiting.set(call, { resolve, bytes, late });
        waitingBytes += bytes;
        // A copy, because its buffer moves to the other thread.
        send({ type: "inbox_message", call, message, body: new Uint8Array(body) });
      });
    },
    stored: settle,
    reachable(now) {
      isReachable = now;
      if (now) return;
      for (const call of waiting.keys()) settle(call, "unavailable");
    },
  };
}
