import { resources } from "../../resources/index.ts";
import type { ResourceObject } from "../../schema/object.ts";

/** The field of an owned object that names its owner, by kind. */
const ownerFields = new Map(
  resources.flatMap(({ name, ownedBy }) => (ownedBy ? [[name, ownedBy.field] as const] : [])),
);

/** All objects of the data plane, by kind and id, and by owner. */
export class ObjectSet {
  readonly #kinds = new Map<string, Map<string, ResourceObject>>();
  /** By kind and owner, in order of arrival. */
  readonly #children = new Map<string, Map<string, Map<string, ResourceObject>>>();

  get(kind: string, id: string): ResourceObject | undefined {
    return this.#kinds.get(kind)?.get(id);
  }

  children(kind: string, ownerId: string, accountId: string): readonly ResourceObject[] {
    const found: ResourceObject[] = [];
    for (const child of this.#children.get(kind)?.get(ownerId)?.values() ?? []) {
      if (child.account_id === accountId) found.push(child);
    }
    return found;
  }

  /** @param before result of `get` for the same kind and id */
  put(object: ResourceObject, before: ResourceObject | undefined): void {
    this.#indexOwner(object, before);
    let kind = this.#kinds.get(object.kind);
    if (!kind) this.#kinds.set(object.kind, (kind = new Map()));
    kind.set(object.id, object);
  }

  delete(object: ResourceObject): void {
    this.#kinds.get(object.kind)?.delete(object.id);
    const owner = ownerOf(object);
    const owners = this.#children.get(object.kind);
    if (owner === undefined || owners === undefined) return;
    const siblings = owners.get(owner);
    siblings?.delete(object.id);
    if (siblings?.size === 0) owners.delete(owner);
  }

  *[Symbol.iterator](): Iterator<ResourceObject> {
    for (const kind of this.#kinds.values()) yield* kind.values();
  }

  #indexOwner(object: ResourceObject, before: ResourceObject | undefined): void {
    const owner = ownerOf(object);
    if (before && ownerOf(before) !== owner) this.delete(before);
    if (owner === undefined) return;
    let owners = this.#children.get(object.kind);
    if (!owners) this.#children.set(object.kind, (owners = new Map()));
    let siblings = owners.get(owner);
    if (!siblings) owners.set(owner, (siblings = new Map()));
    siblings.set(object.id, object);
  }
}

export function ownerOf(object: ResourceObject): string | undefined {
  const field = ownerFields.get(object.kind);
  const owner = field === undefined ? undefined : object.doc[field];
  return typeof owner === "string" ? owner : undefined;
}

/** Returns the dependency name of all objects of `kind` with owner `ownerId`. */
export function childrenKey(kind: string, ownerId: string): string {
  return `${kind}@${ownerId}`;
}

/** Returns the dependency name of one object. */
export function objectKey(kind: string, id: string): string {
  return `${kind}/${id}`;
}
