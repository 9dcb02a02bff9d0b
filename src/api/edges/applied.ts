/** Which revision each connected edge serves, and waiting until all of them serve one. */
import type { Clock } from "../../lib/clock.ts";
import type { Upward } from "../../routing/planes/messages.ts";

export interface AppliedRevisions {
  receive(message: Upward): void;
  /** Resolves once every connected edge serves `revision`, and at least one is; else after `timeoutMs`. */
  wait(revision: number, timeoutMs: number): Promise<Progress>;
  /** Answers everybody who waits. */
  stop(): void;
}

export interface Progress {
  readonly applied: boolean;
  /** Ids of the connected edges that do not serve it. */
  readonly behind: readonly string[];
}

/** Requests that may wait; more are answered at once. */
const maxWaiting = 1_000;

interface Waiting {
  readonly revision: number;
  settle(): void;
}

export function trackApplied(clock: Clock): AppliedRevisions {
  // The line has one edge behind it at a time: a hello is of the same one, or of its successor.
  let edge: { readonly id: string; revision: number | undefined } | undefined;
  const waiting = new Set<Waiting>();
  const progress = (revision: number): Progress => {
    const applied = edge?.revision !== undefined && edge.revision >= revision;
    return { applied, behind: edge && !applied ? [edge.id] : [] };
  };
  return {
    receive(message) {
      if (message.type === "hello") edge = { id: message.edgeId, revision: undefined };
      if (message.type !== "applied" || !edge) return;
      edge.revision = message.revision;
      for (const one of waiting) if (progress(one.revision).applied) one.settle();
    },
    wait(revision, timeoutMs) {
      const now = progress(revision);
      if (now.applied || timeoutMs <= 0 || waiting.size >= maxWaiting) return Promise.resolve(now);
      return new Promise((resolve) => {
        const one: Waiting = {
          revision,
          settle() {
            timer.cancel();
            waiting.delete(one);
            resolve(progress(revision));
          },
        };
        const timer = clock.after(timeoutMs, () => one.settle());
        waiting.add(one);
      });
    },
    stop() {
      for (const one of waiting) one.settle();
    },
  };
}
