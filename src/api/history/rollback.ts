/** Restores an account's objects to a past state, as one new revision. */
import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../../lib/errors.ts";
import { isDocumentKind } from "../../resources/document-key.ts";
import type { Change, Commit, Draft, Store, StoredObject } from "../../storage/store.ts";
import type { Call, Reply } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceNamed, resources } from "../operation/resource-declarations.ts";
import { isDryRun } from "../objects/dry-run.ts";
import { judgeOf } from "../objects/write-context.ts";
import { withServerSet, withoutServerSet } from "../objects/server-set.ts";
import { writeOnce } from "../objects/write-once.ts";
import { objectChange, summaryOf } from "./change-set.ts";
import type { RecentCommits } from "./recent-commits.ts";
import { checkPlan, planHash } from "./plan-hash.ts";
import { settlePuts } from "./settle.ts";
import type { Put } from "./settle.ts";

/** Maximum number of objects that one rollback changes. It limits the size of the commit. */
const maxObjects = 10_000;

const documentKinds = resources.filter(isDocumentKind).map(({ name }) => name);

interface Restored {
  readonly made: readonly Change[];
  readonly hash: string;
}

/** The state of objects at the target revision. Undefined for objects that did not exist then. */
type Past = Map<string, { readonly kind: string; readonly past: StoredObject | undefined }>;

/**
 * Restores the account's state at `revision`. Rejected like any write whose result breaks a rule. A dry run returns the
 * same result and changes nothing.
 */
export async function rollBack(
  revision: number,
  call: Call,
  context: ObjectContext,
  recent: RecentCommits,
): Promise<Reply> {
  const dryRun = isDryRun(call);
  const { store, views } = context;
  const { accountId } = call.principal;
  const watch = recent.begin();
  try {
    const changed = await store.history.changedSince(accountId, revision, maxObjects + 1);
    if (changed.length > maxObjects) {
      throw new Refusal("rollback_too_large", `more than ${maxObjects} objects have changed since ${revision}`);
    }
    const state: Past = new Map(changed.map(({ kind, id, past: then }) => [id, { kind, past: then }]));
    const work = (draft: Draft): Restored => {
      addCommits(state, accountId, watch.commits);
      if (draft.revision - 1 > store.revision) addUncommitted(state, accountId, draft, store);
      draft.together(() => settlePuts(call, context, draft, restoreObjects(state, accountId, draft, context)));
      const made = draft.changes();
      const hash = planHash(
        call,
        { revision },
        made.map((change) => objectChange(change, views, call, false)),
      );
      checkPlan(call, () => hash);
      return { made, hash };
    };
    const reply = ({ made, hash }: Restored, number: number, applied: boolean): Reply => {
      const changes = made.map((change) => objectChange(change, views, call));
      const uri = `${call.baseUrl}/revisions/${number}`;
      const body = JSON.stringify({ applied, revision: number, hash, uri, summary: summaryOf(changes), changes });
      return { status: 200, body, revision: number };
    };
    if (dryRun) return reply(store.rehearse(work, judgeOf(call)), store.revision, false);
    return await writeOnce(call, store, work, (made, written) => reply(made, written, true));
  } finally {
    watch.end();
  }
}

/**
 * Adds objects that were committed after the database was read. Their earlier state is their state at the target
 * revision.
 */
function addCommits(state: Past, accountId: string, commits: readonly Commit[]): void {
  for (const { changes } of commits) {
    for (const { kind, id, before, after } of changes) {
      if ((after ?? before)?.account_id === accountId && !state.has(id)) state.set(id, { kind, past: before });
    }
  }
}

/** Adds changes by earlier writes in the same commit. */
function addUncommitted(state: Past, accountId: string, draft: Draft, store: Store): void {
  for (const kind of documentKinds) {
    const of = (reader: Pick<Store, "page">): readonly StoredObject[] =>
      reader.page(accountId, kind, { limit: Infinity }).objects;
    for (const { id } of [...of(draft), ...of(store)]) {
      const committed = store.get(accountId, kind, id);
      if (draft.get(accountId, kind, id) !== committed && !state.has(id)) state.set(id, { kind, past: committed });
    }
  }
}

/**
 * Values that the server has set remain. For example, a certificate that it has obtained is not restored a second time.
 */
function restoreObjects(state: Past, accountId: string, draft: Draft, { behaviours }: ObjectContext): Put[] {
  const puts: Put[] = [];
  for (const [id, { kind, past: then }] of state) {
    const behaviour = behaviours[kind];
    if (!isDocumentKind(resourceNamed(kind))) continue;
    const present = draft.get(accountId, kind, id);
    const configured = then && withoutServerSet(behaviour, then.doc);
    if (!then) {
      if (!present || !withoutServerSet(behaviour, present.doc)) continue;
      behaviour?.deleting?.(present, draft);
      draft.delete(present);
    } else if (!configured) continue;
    else if (!present) puts.push({ object: draft.revive({ ...then, doc: configured }), before: undefined });
    else {
      const doc = withServerSet(behaviour, configured, present.doc);
      if (!isDeepStrictEqual(present.doc, doc)) puts.push({ object: draft.replace(present, doc), before: present });
    }
  }
  return puts;
}
