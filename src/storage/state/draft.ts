/** A write in progress, with the rules between objects. */
import { Refusal } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Kinds } from "../rows/kinds.ts";
import type { Overlay } from "./overlay.ts";
import { checkClaims, checkReferences, checkUnused, deferChecks } from "./integrity-rules.ts";
import type { Deferred } from "./integrity-rules.ts";
import type { Draft, StoredObject } from "../store.ts";
import { childrenKey, kindNamed, readerOf } from "../rows/state-view.ts";

export interface DraftContext {
  readonly kinds: Kinds;
  /** Revision of this write once it is committed. */
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Time of the write, in the format of objects. */
  readonly at: string;
}

/** Returns a draft that applies its changes to `overlay`. After `end()` it throws on use. */
export function draftOn(overlay: Overlay, context: DraftContext): { readonly draft: Draft; readonly end: () => void } {
  const { kinds, revision } = context;
  let ended = false;
  let deferred: Deferred | undefined;

  const put = (before: StoredObject | undefined, after: StoredObject): StoredObject => {
    if (ended) throw new Error(`write ${after.kind} "${after.id}": the draft has ended; its work must be synchronous`);
    if (deferred) deferred.note(after);
    else {
      checkReferences(kinds, overlay, after);
      checkClaims(kinds, overlay, after);
    }
    overlay.put(after.kind, after.id, before, after);
    return after;
  };

  const draft: Draft = {
    ...readerOf(overlay),
    create(accountId, kind, doc) {
      const id = newId(kindNamed(kinds, kind).idPrefix, context.nowMs);
      if (overlay.object(accountId)?.kind !== "account") {
        throw new Error(`create ${kind}: there is no account "${accountId}"`);
      }
      return put(undefined, toStoredObject(kind, id, accountId, revision, context.at, doc));
    },
    replace({ account_id, kind, id }, doc) {
      const before = draft.get(account_id, kind, id);
      if (!before) throw new Refusal("not_found", `${kind} "${id}" no longer exists`);
      return put(before, toStoredObject(kind, id, account_id, revision, before.created_at, doc));
    },
    delete({ account_id, kind, id }) {
      if (ended) throw new Error(`delete ${kind} "${id}": the draft has ended; its work must be synchronous`);
      const object = draft.get(account_id, kind, id);
      if (!object) throw new Refusal("not_found", `${kind} "${id}" no longer exists`);
      const tree = collectOwned(kinds, overlay, object);
      for (const one of tree.values()) {
        if (deferred) deferred.noteDeleted(one);
        else checkUnused(kinds, overlay, one, tree);
      }
      for (const one of [...tree.values()].reverse()) overlay.put(one.kind, one.id, one, undefined);
    },
    revive({ account_id, kind, id, created_at, doc }) {
      if (overlay.object(id)) throw new Error(`revive ${kind} "${id}": it exists`);
      return put(undefined, toStoredObject(kind, id, account_id, revision, created_at, doc));
    },
    together(work) {
      if (deferred) throw new Error("write together: it is being done already");
      deferred = deferChecks(kinds, overlay);
      try {
        const result = work();
        deferred.check();
        return result;
      } finally {
        deferred = undefined;
      }
    },
    changes: () => [...overlay.changes()],
    revision,
  };
  return {
    draft,
    end() {
      ended = true;
    },
  };
}

function toStoredObject(
  kind: string,
  id: string,
  account_id: string,
  revision: number,
  created_at: string,
  doc: Doc,
): StoredObject {
  return Object.freeze({ kind, id, account_id, revision, created_at, doc: deepFreeze(doc) });
}

/** Readers share documents, so they must not be changed. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

/** Returns the object and all objects it owns, owners first. */
function collectOwned(kinds: Kinds, overlay: Overlay, root: StoredObject): Map<string, StoredObject> {
  const tree = new Map([[root.id, root]]);
  for (const { id, kind } of tree.values()) {
    for (const owned of kindNamed(kinds, kind).owns) {
      for (const child of overlay.idsBelow(childrenKey(owned, id), undefined, Infinity).reverse()) {
        tree.set(child, overlay.object(child) as StoredObject);
      }
    }
  }
  return tree;
}
