/** Writes that are stored together. Each one runs on the result of the previous ones. */
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Idempotency } from "./idempotency.ts";
import type { Kinds } from "../rows/kinds.ts";
import { Overlay } from "../state/overlay.ts";
import type { Quotas } from "../../settings/storage.ts";
import type { StoredWrite } from "../rows/record.ts";
import { runWork } from "../state/run-work.ts";
import type { State } from "../state/state.ts";
import type { Commit, Draft, Once, Replayed, WriteContext, Written } from "../store.ts";
import { Usage } from "../rows/usage.ts";
import { kindNamed } from "../rows/state-view.ts";

export interface WaitingWrite {
  readonly context: WriteContext;
  readonly work: (draft: Draft) => unknown;
  readonly once: Once<never> | undefined;
  readonly resolve: (outcome: Written<unknown> | Replayed) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchContext {
  readonly kinds: Kinds;
  readonly quotas: Quotas;
  readonly state: State;
  readonly usage: Usage;
  readonly answers: Idempotency;
  /** Last revision before the batch. */
  readonly revision: number;
  readonly nowMs: number;
}

/** Result of the writes, not stored yet. */
export interface BatchRun {
  readonly overlay: Overlay;
  readonly usage: Usage;
  readonly entries: readonly StoredWrite[];
  readonly commits: readonly Commit[];
  /** Commits without a revision. */
  readonly unrecorded: readonly Commit[];
  /** Responds to the writers. Called when everything is stored. */
  reply(): void;
}

export function runBatch(waiting: readonly WaitingWrite[], context: BatchContext): BatchRun {
  const { kinds, answers, nowMs } = context;
  const at = formatTimestamp(nowMs);
  const overlay = new Overlay(kinds, context.state);
  const usage = new Usage(context.usage);
  const entries: StoredWrite[] = [];
  const commits: Commit[] = [];
  const unrecorded: Commit[] = [];
  const replies: (() => void)[] = [];
  let { revision } = context;
  for (const { context: of, work, once, resolve, reject } of waiting) {
    const { accountId, id: principalId } = of.principal;
    try {
      if (of.job?.isHeld() === false) throw new Refusal("write_unavailable", "another node now has the job");
      const replayed = once && answers.find(accountId, once);
      if (replayed) {
        replies.push(() => resolve(replayed));
        continue;
      }
      const limits = {
        // Server-initiated writes follow from accepted data, so a quota must not stop them half-way.
        quotas: principalId === "system" ? undefined : context.quotas,
        base: overlay,
        usage,
        judge: of.judge,
      };
      const { result, changes, added } = runWork({ kinds, revision: revision + 1, nowMs, at, ...limits }, work);
      const answer = once?.answer(result as never, changes.length > 0 ? revision + 1 : revision);
      if (changes.length > 0) {
        const isRecorded = principalId !== "system" || changes.some(({ kind }) => !kindNamed(kinds, kind).unrecorded);
        if (isRecorded) {
          revision += 1;
          entries.push({ revision, at, context: of, changes });
        }
        overlay.merge(changes);
        usage.add(added);
        const commit = { revision, accountId, changes };
        commits.push(commit);
        if (!isRecorded) unrecorded.push(commit);
      }
      if (once) answers.add(accountId, once, revision, answer as string);
      const written = { revision, result };
      replies.push(() => resolve(written));
    } catch (error) {
      // The refusal may depend on an earlier write of this batch, so it is valid only when that write is stored.
      replies.push(() => reject(error));
    }
  }
  return {
    overlay,
    usage,
    entries,
    commits,
    unrecorded,
    reply() {
      for (const reply of replies) reply();
    },
  };
}
