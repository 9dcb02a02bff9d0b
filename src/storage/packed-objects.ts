/** The committed objects of packed kinds: two texts of each, read when somebody asks for it. */
import { timestamp } from "../lib/clock.ts";
import type { Doc } from "../schema/doc.ts";
import type { PackedDoc, Packing } from "../schema/packed.ts";
import { Digests } from "./digests.ts";
import type { Kinds } from "./kinds.ts";
import type { StoredObject } from "./store.ts";
import { indexEntriesOf, kindNamed } from "./view.ts";
import type { IndexEntries } from "./view.ts";

export type ObjectPlace = Omit<StoredObject, "doc">;

/** What objects of one kind and account have in common. */
export interface Common {
  readonly kind: string;
  readonly account_id: string;
  /** JSON of its values. */
  readonly text: string;
  readonly values: readonly unknown[];
  /** How many objects have it. */
  uses: number;
}

/** A class, because there are very many. */
export class PackedObject {
  readonly id: string;
  readonly revision: number;
  /** Whole seconds since 1970. */
  readonly createdAt: number;
  /** JSON of its own values. */
  readonly own: string;
  readonly common: Common;

  constructor({ id, revision, created_at }: ObjectPlace, own: string, common: Common) {
    this.id = id;
    this.revision = revision;
    this.createdAt = Date.parse(created_at) / 1000;
    this.own = own;
    this.common = common;
  }
}

export class PackedObjects {
  readonly #kinds: Kinds;
  readonly #objects = new Map<string, PackedObject>();
  readonly #commons = new Map<string, Common>();
  /** The one of the last object: that of its neighbour, mostly. */
  #last: Common | undefined;
  /** By the names that are claimed. */
  readonly #claims = new Digests();
  /** By the owner's id. */
  readonly #owned = new Digests();
  /** By ids that are referred to, but for the owner's. */
  readonly #referrers = new Digests();

  constructor(kinds: Kinds) {
    this.#kinds = kinds;
  }

  /** The object as it is now: another one each time. */
  get(id: string): StoredObject | undefined {
    const object = this.#objects.get(id);
    return object && this.#read(object);
  }

  /** @param kinds all unless given */
  *all(kinds?: ReadonlySet<string>): Iterable<StoredObject> {
    for (const object of this.#objects.values()) {
      if (!kinds || kinds.has(object.common.kind)) yield this.#read(object);
    }
  }

  *ofKind(kind: string): Iterable<PackedObject> {
    for (const object of this.#objects.values()) if (object.common.kind === kind) yield object;
  }

  /** @param keys as much of the document as claims, references and the owner are of */
  put(place: ObjectPlace, { own, common }: PackedDoc, keys: Doc): void {
    this.#objects.set(place.id, new PackedObject(place, own, this.#commonOf(place, common)));
    this.#index(place, keys, "add");
  }

  /** Takes an object out as it was entered; harmless when it is not there. */
  remove(object: StoredObject): void {
    const packed = this.#objects.get(object.id);
    if (!packed) return;
    this.#objects.delete(object.id);
    this.#release(packed.common);
    this.#index(object, object.doc, "remove");
  }

  holderId(claim: string): string | undefined {
    return this.#claims.candidates(lastPart(claim)).find((id) => this.#entriesOf(id)?.claims.includes(claim));
  }

  /** Of a list of those that an owner has; ascending. */
  idsOf(list: string): string[] {
    const candidates = this.#owned.candidates(lastPart(list));
    return candidates.filter((id) => this.#entriesOf(id)?.lists.includes(list)).sort();
  }

  /** Ascending. */
  referrerIds(target: string): string[] {
    const candidates = [...this.#owned.candidates(target), ...this.#referrers.candidates(target)];
    return candidates.filter((id) => this.#entriesOf(id)?.targets.has(target)).sort();
  }

  #index({ kind, id }: ObjectPlace, doc: Doc, change: "add" | "remove"): void {
    const { claims, owner, references } = kindNamed(this.#kinds, kind);
    for (const { name } of claims(doc)) this.#claims[change](name, id);
    const ownerId = owner && String(doc[owner.field]);
    if (ownerId !== undefined) this.#owned[change](ownerId, id);
    const targets = references(doc).map((reference) => reference.id);
    for (const [at, target] of targets.entries()) {
      if (target !== ownerId && targets.indexOf(target) === at) this.#referrers[change](target, id);
    }
  }

  #entriesOf(id: string): IndexEntries | undefined {
    const object = this.get(id);
    return object && indexEntriesOf(this.#kinds, object);
  }

  #read({ id, revision, createdAt, own, common }: PackedObject): StoredObject {
    const { packing, complete } = kindNamed(this.#kinds, common.kind);
    const doc = complete((packing as Packing).unpack(JSON.parse(own) as unknown[], common.values));
    const { kind, account_id } = common;
    return Object.freeze({ kind, id, account_id, revision, created_at: timestamp(createdAt * 1000), doc });
  }

  #commonOf({ kind, account_id }: ObjectPlace, text: string): Common {
    let common = this.#last;
    if (!common || common.kind !== kind || common.account_id !== account_id || common.text !== text) {
      const key = `${account_id}\0${kind}\0${text}`;
      common = this.#commons.get(key);
      if (!common) {
        common = { kind, account_id, text, values: JSON.parse(text) as unknown[], uses: 0 };
        this.#commons.set(key, common);
      }
      this.#last = common;
    }
    common.uses += 1;
    return common;
  }

  #release(common: Common): void {
    common.uses -= 1;
    if (common.uses > 0) return;
    this.#commons.delete(`${common.account_id}\0${common.kind}\0${common.text}`);
    if (this.#last === common) this.#last = undefined;
  }
}

/** The name in a `claimKey`, or the id in a `childrenKey`. */
function lastPart(key: string): string {
  return key.slice(key.indexOf("\0", key.indexOf("\0") + 1) + 1);
}
