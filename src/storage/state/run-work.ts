import { draftOn } from "./draft.ts";
import type { DraftContext } from "./draft.ts";
import { Overlay } from "./overlay.ts";
import { checkQuotas } from "./quotas.ts";
import type { Quotas } from "../../settings/storage.ts";
import type { Change, Draft, Judge } from "../store.ts";
import { bytesAdded } from "../rows/usage.ts";
import type { Usage } from "../rows/usage.ts";
import type { View } from "../rows/state-view.ts";

export interface WorkContext extends DraftContext {
  /** Undefined: no limits. */
  readonly quotas: Quotas | undefined;
  readonly base: View;
  readonly usage: Usage;
  readonly judge: Judge | undefined;
}

interface WorkDone<T> {
  readonly result: T;
  readonly changes: readonly Change[];
  /** Added bytes, by account. */
  readonly added: ReadonlyMap<string, number>;
}

/** Runs the work of a write on top of `base`, which does not change. */
export function runWork<T>(context: WorkContext, work: (draft: Draft) => T): WorkDone<T> {
  const { kinds, quotas, base, usage, judge } = context;
  const overlay = new Overlay(kinds, base);
  const { draft, end } = draftOn(overlay, context);
  let result: T;
  try {
    result = work(draft);
    judge?.(draft);
  } finally {
    end();
  }
  if (result instanceof Promise) throw new Error("write: the work returned a promise; it must be synchronous");
  const changes = [...overlay.changes()];
  const added = quotas
    ? checkQuotas(quotas, kinds, changes, { before: base, after: overlay, usage })
    : bytesAdded(kinds, changes);
  return { result, changes, added };
}
