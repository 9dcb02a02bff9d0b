/** A write in the making, with the rules that hold between objects. */
import { Refusal } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import type { Doc, Kinds } from "./kinds.ts";
import type { Overlay } from "./overlay.ts";
import type { Draft, StoredObject } from "./store.ts";
import { childrenKey, claimKey, kindNamed, listKey, readerOf } from "./view.ts";

export interface DraftContext {
  readonly kinds: Kinds;
  /** What this write gets when it is committed. */
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** The time of the write as objects show it. */
  readonly at: string;
}

/** A draft that puts its changes into `overlay`. After `end()` it refuses to be used. */
export function draftOn(overlay: Overlay, context: DraftContext): { readonly draft: Draft; readonly end: () => void } {
  const { kinds, revision } = context;
  let ended = false;

  const put = (before: StoredObject | undefined, after: StoredObject): StoredObject => {
    if (ended) throw new Error(`write ${after.kind} "${after.id}": the draft has ended; its work must be synchronous`);
    checkReferences(kinds, overlay, after);
    checkClaims(kinds, overlay, after);
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
      return put(undefined, stored(kind, id, accountId, revision, context.at, doc));
    },
    replace({ account_id, kind, id }, doc) {
      const before = draft.get(account_id, kind, id);
      if (!before) throw new Refusal("not_found", `${kind} "${id}" does not exist any more`);
      return put(before, stored(kind, id, account_id, revision, before.created_at, doc));
    },
    delete({ account_id, kind, id }) {
      if (ended) throw new Error(`delete ${kind} "${id}": the draft has ended; its work must be synchronous`);
      const object = draft.get(account_id, kind, id);
      if (!object) throw new Refusal("not_found", `${kind} "${id}" does not exist any more`);
      const tree = ownedTree(kinds, overlay, object);
      for (const one of tree.values()) checkUnused(kinds, overlay, one, tree);
      for (const one of [...tree.values()].reverse()) overlay.put(one.kind, one.id, one, undefined);
    },
    revive({ account_id, kind, id, created_at, doc }) {
      if (overlay.object(id)) throw new Error(`revive ${kind} "${id}": it exists`);
      return put(undefined, stored(kind, id, account_id, revision, created_at, doc));
    },
  };
  return {
    draft,
    end() {
      ended = true;
    },
  };
}

function stored(
  kind: string,
  id: string,
  account_id: string,
  revision: number,
  created_at: string,
  doc: Doc,
): StoredObject {
  return Object.freeze({ kind, id, account_id, revision, created_at, doc: deepFreeze(doc) });
}

/** Readers share documents, so nobody may write into one. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

function checkReferences(kinds: Kinds, overlay: Overlay, object: StoredObject): void {
  const details: Record<string, string> = {};
  let first: string | undefined;
  for (const { path, to, id } of kindNamed(kinds, object.kind).references(object.doc)) {
    const target = overlay.object(id);
    if (target && target.account_id === object.account_id && to.includes(target.kind)) continue;
    details[path] = `there is no ${to.join(" or ")} "${id}"`;
    first ??= `"${path}" refers to ${to.join(" or ")} "${id}", which does not exist`;
  }
  if (first !== undefined) throw new Refusal("reference_unknown", first, details);
}

function checkClaims(kinds: Kinds, overlay: Overlay, object: StoredObject): void {
  const kind = kindNamed(kinds, object.kind);
  for (const claim of kind.claims(object.doc)) {
    const holderId = overlay.holderId(claimKey(object.account_id, claim));
    if (holderId === undefined || holderId === object.id) continue;
    const holder = overlay.object(holderId) as StoredObject;
    if (holder.account_id !== object.account_id) {
      throw new Refusal(kind.taken, `"${claim.name}" is held by another account`);
    }
    throw new Refusal(kind.taken, `"${claim.name}" is held by ${holder.kind} "${holder.id}"`, {
      holder_id: holder.id,
      holder_kind: holder.kind,
    });
  }
}

/** The object and all it owns, owners first. */
function ownedTree(kinds: Kinds, overlay: Overlay, root: StoredObject): Map<string, StoredObject> {
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

function checkUnused(
  kinds: Kinds,
  overlay: Overlay,
  object: StoredObject,
  going: ReadonlyMap<string, StoredObject>,
): void {
  for (const id of overlay.referrerIds(object.id)) {
    if (!going.has(id)) refuseUsed(object, overlay.object(id) as StoredObject);
  }
  if (object.kind !== "account") return;
  for (const kind of kinds.keys()) {
    const inside = overlay.idsBelow(listKey(object.id, kind), undefined, 2).find((id) => id !== object.id);
    if (inside !== undefined) refuseUsed(object, overlay.object(inside) as StoredObject);
  }
}

function refuseUsed(object: StoredObject, by: StoredObject): never {
  throw new Refusal("in_use", `${object.kind} "${object.id}" is still used by ${by.kind} "${by.id}"`, {
    referrer_id: by.id,
    referrer_kind: by.kind,
  });
}
