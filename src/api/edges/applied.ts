/** Tracks which revision each connected edge serves, and waits until all edges serve a revision. */
import type { Clock } from "../../lib/clock.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";

export interface AppliedRevisions extends EdgeObserver {
  /** Latest revision that every connected edge serves. Undefined before the first. */
  everywhere(): number | undefined;
  /** Resolves once at least one edge is connected and every connected edge serves `revision`, or after `timeoutMs`. */
  wait(revision: number, timeoutMs: number): Promise<Progress>;
  /** Resolves all waiting calls. */
  stop(): void;
}

export interface Progress {
  readonly applied: boolean;
  /** Ids of the connected edges that do not serve the revision. */
  readonly behind: readonly string[];
}

/** Maximum number of waiting requests. More requests get an immediate response. */
const maxWaiting = 1_000;

interface RevisionWaiter {
  readonly revision: number;
  settle(): void;
}

/**
 * Combines the progress of all nodes.
 * @param elsewhere the edges of other nodes that do not serve the revision after `timeoutMs`
 */
export function combineApplied(
  ownRevisions: AppliedRevisions,
  elsewhere: (revision: number, timeoutMs: number) => Promise<readonly string[]>,
): AppliedRevisions {
  return {
    ...ownRevisions,
    async wait(revision, timeoutMs) {
      const [{ applied, behind }, remaining] = await Promise.all([
        ownRevisions.wait(revision, timeoutMs),
        elsewhere(revision, Math.max(timeoutMs, 0)),
      ]);
      return { applied: applied && remaining.length === 0, behind: [...behind, ...remaining] };
    },
  };
}

export function trackApplied(clock: Clock): AppliedRevisions {
  const revisions = new Map<EdgeLine, number | undefined>();
  const waiting = new Set<RevisionWaiter>();
  const everywhere = (): number | undefined => {
    let least: number | undefined;
    for (const revision of revisions.values()) {
      if (revision === undefined) return undefined;
      if (least === undefined || revision < least) least = revision;
    }
    return least;
  };
  const progress = (revision: number): Progress => {
    const behind: string[] = [];
    for (const [{ edgeId }, served] of revisions) {
      if (served === undefined || served < revision) behind.push(edgeId ?? "");
    }
    return { applied: revisions.size > 0 && behind.length === 0, behind };
  };
  const settleServed = (): void => {
    const served = everywhere();
    if (served === undefined) return;
    for (const one of waiting) if (one.revision <= served) one.settle();
  };
  return {
    everywhere,
    receive(message, line) {
      if (message.type === "hello") revisions.set(line, undefined);
      if (message.type === "gone" && revisions.delete(line)) settleServed();
      if (message.type !== "applied" || !revisions.has(line)) return;
      revisions.set(line, message.revision);
      settleServed();
    },
    wait(revision, timeoutMs) {
      const now = progress(revision);
      if (now.applied || timeoutMs <= 0 || waiting.size >= maxWaiting) return Promise.resolve(now);
      return new Promise((resolve) => {
        const one: RevisionWaiter = {
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
