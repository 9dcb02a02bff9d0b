/** Indexes over a set of objects, and the reads that use them, the same for committed state and for drafts. */
import { namesAbove, wildcardsOver } from "../../lib/host-cover.ts";
import type { ObjectClaim, Use } from "../../schema/resource.ts";
import type { Kind, Kinds } from "./kinds.ts";
import type { PageRequest, Reader, StoredObject } from "../store.ts";

export interface View {
  object(id: string): StoredObject | undefined;
  /** Returns at most `limit` ids of a list before `below`, newest first. */
  idsBelow(list: string, below: string | undefined, limit: number): string[];
  /** Number of ids in a list. */
  count(list: string): number;
  holderId(claimKey: string): string | undefined;
  referrerIds(id: string): Iterable<string>;
}

/** Index entries of an object. */
export interface IndexEntries {
  /** The list of its account and kind, then the list of its owner, if it has one. */
  readonly lists: readonly string[];
  readonly claims: readonly string[];
  readonly targets: ReadonlySet<string>;
}

export function kindNamed(kinds: Kinds, name: string): Kind {
  const kind = kinds.get(name);
  if (!kind) throw new Error(`find kind "${name}": not declared`);
  return kind;
}

/** Called for every object at a start, and twice for each change. */
export function indexEntriesOf(kinds: Kinds, object: StoredObject): IndexEntries {
  const kind = kindNamed(kinds, object.kind);
  const lists: string[] = [...listsOf(kinds, object)];
  const claims: string[] = [];
  for (const claim of kind.claims(object.doc)) {
    const key = claimKey(object.account_id, claim);
    lists.push(...listsAbove(claim));
    if (claim.sharedAs === undefined) claims.push(key);
    else lists.push(sharedKey(key));
  }
  for (const use of kind.uses(object.doc)) {
    for (const list of usesOf(object.account_id, use)) if (!lists.includes(list)) lists.push(list);
  }
  const references = kind.references(object.doc);
  return { lists, claims, targets: references.length === 0 ? none : new Set(references.map(({ id }) => id)) };
}

const none: ReadonlySet<string> = new Set();

/** Returns the list of an object's account and kind, and the list of its owner, if it has one. */
export function listsOf(
  kinds: Kinds,
  { kind, account_id, doc }: StoredObject,
): readonly [own: string, ...ofOwner: string[]] {
  const { owner } = kindNamed(kinds, kind);
  const list = listKey(account_id, kind);
  return owner ? [list, childrenKey(kind, doc[owner.field] as string)] : [list];
}

export function listKey(accountId: string, kind: string): string {
  if (lastList.accountId !== accountId || lastList.kind !== kind) {
    lastList = { accountId, kind, key: `${accountId}\0${kind}` };
  }
  return lastList.key;
}

/** A start requests it for one object after the other. A new string would be hashed again each time. */
let lastList = { accountId: "", kind: "", key: "\0" };
let lastChildren = { kind: "", parentId: "", key: "\0\0" };

export function childrenKey(kind: string, parentId: string): string {
  if (lastChildren.parentId !== parentId || lastChildren.kind !== kind) {
    lastChildren = { kind, parentId, key: `\0${kind}\0${parentId}` };
  }
  return lastChildren.key;
}

/** Key of the list of objects that hold host names below a name, in any account. */
export function belowKey(space: string, host: string): string {
  return `\0below\0${space}\0${host}`;
}

/** Key of the list of objects in an account that use a name. For hosts with `*.`, the list includes names below it. */
export function useKey(accountId: string, { space, name }: Use): string {
  return `\0use\0${accountId}\0${space}\0${name}`;
}

/** Returns the use under every name whose holder may be the one that it depends on. */
function usesOf(accountId: string, use: Use): readonly string[] {
  return [use.name, ...wildcardsOver(use.name)].map((name) => useKey(accountId, { ...use, name }));
}

function listsAbove({ space, name, hosts }: ObjectClaim): readonly string[] {
  return hosts ? namesAbove(name).map((host) => belowKey(space, host)) : [];
}

export function claimKey(accountId: string, { space, name, global }: ObjectClaim): string {
  return `${global ? "" : accountId}\0${space}\0${name}`;
}

/** Key of the list of objects that share a name. */
export function sharedKey(claim: string): string {
  return `\0shared\0${claim}`;
}

export function readerOf(view: View): Reader {
  const present = (ids: Iterable<string>): StoredObject[] => Array.from(ids, (id) => view.object(id) as StoredObject);
  return {
    get(accountId, kind, id) {
      const object = view.object(id);
      return object?.account_id === accountId && object.kind === kind ? object : undefined;
    },
    page(accountId, kind, { limit, beforeId, parentId }: PageRequest) {
      const list = parentId === undefined ? listKey(accountId, kind) : childrenKey(kind, parentId);
      // A parent and its children belong to one account, so a list is either all of this account or all foreign.
      const objects = present(view.idsBelow(list, beforeId, limit + 1)).filter(
        (object) => object.account_id === accountId,
      );
      return { objects: objects.slice(0, limit), more: objects.length > limit };
    },
    children: (kind, parentId) => present(view.idsBelow(childrenKey(kind, parentId), undefined, Infinity).reverse()),
    holder(accountId, space, name) {
      const keys = [claimKey(accountId, { space, name }), claimKey(accountId, { space, name, global: true })];
      const id =
        keys.map((key) => view.holderId(key)).find((one) => one !== undefined) ??
        keys.flatMap((key) => view.idsBelow(sharedKey(key), undefined, 1))[0];
      return id === undefined ? undefined : view.object(id);
    },
    referrers: (id) => present(view.referrerIds(id)),
  };
}
