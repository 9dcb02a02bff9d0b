/** The rules between objects, for one step of a write or for all its steps together. */
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { wildcardBase, wildcardsOver } from "../../lib/host-cover.ts";
import { hostMatches } from "../../lib/hostport.ts";
import type { ObjectClaim } from "../../schema/resource.ts";
import type { Kinds } from "../rows/kinds.ts";
import type { Overlay } from "./overlay.ts";
import type { StoredObject } from "../store.ts";
import { belowKey, claimKey, kindNamed, listKey, sharedKey, useKey } from "../rows/state-view.ts";

export function checkReferences(kinds: Kinds, overlay: Overlay, object: StoredObject): void {
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

export function checkClaims(kinds: Kinds, overlay: Overlay, object: StoredObject): void {
  const kind = kindNamed(kinds, object.kind);
  for (const claim of kind.claims(object.doc)) {
    const key = claimKey(object.account_id, claim);
    const holderId = overlay.holderId(key);
    if (holderId === object.id && overlay.idsBelow(sharedKey(key), undefined, 1).length === 0) continue;
    if (holderId !== undefined && holderId !== object.id) {
      refuseHeld(object, kind.taken, claim, overlay.object(holderId) as StoredObject);
    }
    const other = findSharers(overlay, object, key).find((one) => !isShared(kinds, object, one, key));
    if (other) refuseHeld(object, kind.taken, claim, other);
    checkCover(kinds, overlay, object, claim);
  }
}

/** Returns other objects that share the name. */
function findSharers(overlay: Overlay, { id }: StoredObject, key: string): readonly StoredObject[] {
  const ids = overlay.idsBelow(sharedKey(key), undefined, Infinity);
  return ids.filter((one) => one !== id).map((one) => overlay.object(one) as StoredObject);
}

/** Whether two objects may share a name. */
function isShared(kinds: Kinds, one: StoredObject, other: StoredObject, key: string): boolean {
  const wordOf = ({ kind, account_id, doc }: StoredObject): string | undefined =>
    kindNamed(kinds, kind)
      .claims(doc)
      .find((claim) => claimKey(account_id, claim) === key)?.sharedAs;
  return one.account_id === other.account_id && wordOf(one) !== undefined && wordOf(one) === wordOf(other);
}

/**
 * Rejects a host name that covers a host name of another account, or is covered by one. Applies to newly claimed names.
 */
function checkCover(kinds: Kinds, overlay: Overlay, { kind, account_id }: StoredObject, claim: ObjectClaim): void {
  const { space, name, hosts } = claim;
  if (!hosts) return;
  const { taken } = kindNamed(kinds, kind);
  const isForeign = (id: string | undefined): boolean =>
    id !== undefined && overlay.object(id)?.account_id !== account_id;
  for (const wildcard of wildcardsOver(name)) {
    if (!isForeign(overlay.holderId(claimKey(account_id, { ...claim, name: wildcard })))) continue;
    const message = `another account holds "${wildcard}", which includes "${name}"`;
    throw new Refusal(taken, message, fieldOf(claim));
  }
  const base = wildcardBase(name);
  if (base === undefined || !overlay.idsBelow(belowKey(space, base), undefined, Infinity).some(isForeign)) return;
  throw new Refusal(taken, `"${name}" would include names that other accounts hold`, fieldOf(claim));
}

function refuseHeld(object: StoredObject, taken: RefusalName, claim: ObjectClaim, holder: StoredObject): never {
  const { name } = claim;
  if (holder.account_id !== object.account_id) {
    throw new Refusal(taken, `another account holds "${name}"`, fieldOf(claim));
  }
  throw new Refusal(taken, `${holder.kind} "${holder.id}" holds "${name}"`, {
    ...fieldOf(claim),
    holder_id: holder.id,
    holder_kind: holder.kind,
  });
}

/** Returns the entry of `details` for the field with the name. */
function fieldOf({ at, name }: ObjectClaim): Readonly<Record<string, string>> {
  return at === undefined ? {} : { [at]: `must be different: "${name}" is already held` };
}

export function checkUnused(
  kinds: Kinds,
  overlay: Overlay,
  object: StoredObject,
  going: ReadonlyMap<string, StoredObject>,
): void {
  for (const id of overlay.referrerIds(object.id)) {
    if (!going.has(id)) refuseUsed(object, overlay.object(id) as StoredObject);
  }
  const user = userOf(kinds, overlay, object, going);
  if (user) refuseUsed(object, user);
  if (object.kind !== "account") return;
  for (const kind of kinds.keys()) {
    const inside = overlay.idsBelow(listKey(object.id, kind), undefined, 2).find((id) => id !== object.id);
    if (inside !== undefined) refuseUsed(object, overlay.object(inside) as StoredObject);
  }
}

/** Returns a user of a name that only `object` holds. */
function userOf(
  kinds: Kinds,
  overlay: Overlay,
  { id, account_id, kind, doc }: StoredObject,
  going: ReadonlyMap<string, StoredObject>,
): StoredObject | undefined {
  const isHeldElse = (space: string, name: string): boolean =>
    [name, ...wildcardsOver(name)].some((one) => {
      const holder = overlay.holderId(claimKey(account_id, { space, name: one, global: true }));
      if (holder === undefined || holder === id || going.has(holder)) return false;
      return overlay.object(holder)?.account_id === account_id;
    });
  for (const { space, name } of kindNamed(kinds, kind).claims(doc)) {
    for (const userId of overlay.idsBelow(useKey(account_id, { space, name }), undefined, Infinity)) {
      if (going.has(userId)) continue;
      const user = overlay.object(userId) as StoredObject;
      for (const use of kindNamed(kinds, user.kind).uses(user.doc)) {
        if (use.space === space && hostMatches(name, use.name) && !isHeldElse(space, use.name)) return user;
      }
    }
  }
  return undefined;
}

function refuseUsed(object: StoredObject, by: StoredObject): never {
  throw new Refusal("in_use", `${by.kind} "${by.id}" still uses ${object.kind} "${object.id}"`, {
    referrer_id: by.id,
    referrer_kind: by.kind,
  });
}

/** Checks that wait until several steps are done. */
export interface Deferred {
  /** Called before the object is put into the overlay. */
  note(object: StoredObject): void;
  noteDeleted(object: StoredObject): void;
  /** @throws Refusal if a rule does not hold now, with the affected object in `details` */
  check(): void;
}

const nothing: ReadonlyMap<string, StoredObject> = new Map();

export function deferChecks(kinds: Kinds, overlay: Overlay): Deferred {
  const written = new Set<string>();
  const deleted = new Map<string, StoredObject>();
  /** Names that their objects did not have before. */
  const claimed: { readonly by: string; readonly claim: ObjectClaim }[] = [];
  /** Holders of names that another object took. One of the two must have released the name at the end. */
  const contested: {
    readonly by: string;
    readonly key: string;
    readonly claim: ObjectClaim;
    readonly holder: string;
  }[] = [];

  const contests = (): void => {
    for (const { by, key, claim, holder } of contested) {
      const [claimant, former] = [overlay.object(by), overlay.object(holder)];
      if (!claimant || !former || !holds(claimant, key) || !holds(former, key)) continue;
      if (isShared(kinds, claimant, former, key)) continue;
      nameObject(claimant, () => refuseHeld(claimant, kindNamed(kinds, claimant.kind).taken, claim, former));
    }
  };
  const holds = (object: StoredObject, key: string): boolean =>
    kindNamed(kinds, object.kind)
      .claims(object.doc)
      .some((claim) => claimKey(object.account_id, claim) === key);

  return {
    note(object) {
      written.add(object.id);
      for (const claim of kindNamed(kinds, object.kind).claims(object.doc)) {
        const key = claimKey(object.account_id, claim);
        const holder = overlay.holderId(key);
        if (holder !== object.id) claimed.push({ by: object.id, claim });
        if (holder !== undefined && holder !== object.id) {
          contested.push({ by: object.id, key, claim, holder });
        }
      }
    },
    noteDeleted(object) {
      deleted.set(object.id, object);
    },
    check() {
      contests();
      for (const { by, claim } of claimed) {
        const object = overlay.object(by);
        if (object && holds(object, claimKey(object.account_id, claim))) {
          nameObject(object, () => checkCover(kinds, overlay, object, claim));
        }
      }
      for (const id of written) {
        const object = overlay.object(id);
        if (!object) continue;
        nameObject(object, () => {
          checkReferences(kinds, overlay, object);
          checkClaims(kinds, overlay, object);
        });
      }
      for (const object of deleted.values()) {
        if (!overlay.object(object.id)) nameObject(object, () => checkUnused(kinds, overlay, object, nothing));
      }
    },
  };
}

function nameObject(object: StoredObject, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const details = { ...error.details, object_id: object.id, object_kind: object.kind };
    throw new Refusal(error.reason, error.message, details);
  }
}
