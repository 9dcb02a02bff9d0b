/** The committed objects of packed kinds: two texts of each, read when somebody asks for it. */
import { timestamp } from "../lib/clock.ts";
import type { Doc } from "../schema/doc.ts";
import type { PackedDoc, PackedObjects as SentObjects, Packing } from "../schema/packed.ts";
import { Digests } from "../lib/digests.ts";
import type { Kinds } from "./kinds.ts";
import { PackedTexts } from "../lib/packed-texts.ts";
import { Part } from "./packed-part.ts";
import { insertId, removeIds } from "./sorted-ids.ts";
import type { StoredObject } from "./store.ts";
import { indexEntriesOf, kindNamed, listKey } from "./view.ts";
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

/** What there is of an account's objects of one kind. */
interface List {
  count: number;
  newest: string;
  /** All ids, ascending: from when somebody has asked for them. */
  ids: string[] | undefined;
}

/** Between an id, which has none, and the own values. */
const cut = " ";

/** Each has a number: what there is of it is in arrays, so that a start makes no objects of them. */
export class PackedObjects {
  readonly #kinds: Kinds;
  /** Id and own values. */
  readonly #texts = new PackedTexts();
  readonly #commonOf: (Common | undefined)[] = [];
  readonly #revisionOf: number[] = [];
  /** Whole seconds since 1970. */
  readonly #createdAtOf: number[] = [];
  /** Numbers of objects that are gone. */
  readonly #free: number[] = [];
  readonly #commons = new Map<string, Common>();
  /** The one of the last object: that of its neighbour, mostly. */
  #last: Common | undefined;
  #lastCreated = { at: "", seconds: 0 };
  readonly #lists = new Map<string, List>();
  readonly #ids = new Digests();
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
    const number = this.#numberOf(id);
    return number === undefined ? undefined : this.#read(number);
  }

  /** @param kinds all unless given */
  *all(kinds?: ReadonlySet<string>): Iterable<StoredObject> {
    for (const [number, common] of this.#commonOf.entries()) {
      if (common && (!kinds || kinds.has(common.kind))) yield this.#read(number);
    }
  }

  /** As they are sent. */
  *parts(kind: string): Iterable<SentObjects> {
    let part = new Part(kind);
    for (const [number, common] of this.#commonOf.entries()) {
      if (common?.kind !== kind) continue;
      if (!part.hasRoom(this.#texts.lengthOf(number))) {
        yield part.finish();
        part = new Part(kind);
      }
      part.add(common, this.#texts, number);
    }
    if (!part.isEmpty) yield part.finish();
  }

  /** Takes over an object that is not there yet. @param keys as much of the document as claims, references and the owner are of */
  put(place: ObjectPlace, { own, common }: PackedDoc, keys: Doc): void {
    const { id, revision } = place;
    const number = this.#free.pop() ?? this.#commonOf.length;
    this.#texts.put(number, id + cut + own);
    this.#commonOf[number] = this.#enterCommon(place, common);
    this.#revisionOf[number] = revision;
    this.#createdAtOf[number] = this.#secondsOf(place.created_at);
    this.#ids.add(id, number);
    this.#index(place, keys, "add", number);
    this.#enterList(place);
  }

  /** Takes an object out as it was entered; harmless when it is not there. */
  remove(object: StoredObject): void {
    const number = this.#numberOf(object.id);
    if (number === undefined) return;
    this.#index(object, object.doc, "remove", number);
    this.#leaveList(object);
    this.#ids.remove(object.id, number);
    this.#leaveCommon(this.#commonOf[number] as Common);
    this.#commonOf[number] = undefined;
    this.#texts.drop(number);
    this.#free.push(number);
  }

  holderId(claim: string): string | undefined {
    return this.#entered(this.#claims, lastPart(claim)).find((one) => one.entries.claims.includes(claim))?.id;
  }

  /** How many ids a list has. */
  count(list: string): number {
    return this.#lists.get(list)?.count ?? this.idsOf(list).length;
  }

  /** Of the list of an account's objects of one kind, or of those that an owner has; ascending. */
  idsOf(list: string): readonly string[] {
    const known = this.#lists.get(list);
    if (known) return (known.ids ??= this.#idsOf(list));
    return this.#entered(this.#owned, lastPart(list))
      .filter(({ entries }) => entries.lists.includes(list))
      .map(({ id }) => id)
      .sort();
  }

  /** Ascending. */
  referrerIds(target: string): string[] {
    return [...this.#entered(this.#owned, target), ...this.#entered(this.#referrers, target)]
      .filter(({ entries }) => entries.targets.has(target))
      .map(({ id }) => id)
      .sort();
  }

  /** The newest of each list of an account's objects of one kind. */
  *newestIds(): Iterable<string> {
    for (const { newest } of this.#lists.values()) yield newest;
  }

  #numberOf(id: string): number | undefined {
    return this.#ids.candidates(id).find((number) => this.#texts.begins(number, id + cut));
  }

  #textsOf(number: number): { readonly id: string; readonly own: string } {
    const text = this.#texts.read(number);
    const end = text.indexOf(cut);
    return { id: text.slice(0, end), own: text.slice(end + 1) };
  }

  /** What an index has for a key: to be checked. */
  #entered(index: Digests, key: string): { readonly id: string; readonly entries: IndexEntries }[] {
    return index.candidates(key).map((number) => {
      const object = this.#read(number);
      return { id: object.id, entries: indexEntriesOf(this.#kinds, object) };
    });
  }

  #index({ kind }: ObjectPlace, doc: Doc, change: "add" | "remove", number: number): void {
    const { claims, owner, references } = kindNamed(this.#kinds, kind);
    for (const { name } of claims(doc)) this.#claims[change](name, number);
    const ownerId = owner && String(doc[owner.field]);
    if (ownerId !== undefined) this.#owned[change](ownerId, number);
    const targets = references(doc).map((reference) => reference.id);
    for (const [at, target] of targets.entries()) {
      if (target !== ownerId && targets.indexOf(target) === at) this.#referrers[change](target, number);
    }
  }

  #read(number: number): StoredObject {
    const { id, own } = this.#textsOf(number);
    const { kind, account_id, values } = this.#commonOf[number] as Common;
    const { packing, complete } = kindNamed(this.#kinds, kind);
    const doc = complete((packing as Packing).unpack(JSON.parse(own) as unknown[], values));
    const created_at = timestamp((this.#createdAtOf[number] as number) * 1000);
    return Object.freeze({ kind, id, account_id, revision: this.#revisionOf[number] as number, created_at, doc });
  }

  /** Those of neighbours are of one second, mostly. */
  #secondsOf(at: string): number {
    if (this.#lastCreated.at !== at) this.#lastCreated = { at, seconds: Date.parse(at) / 1000 };
    return this.#lastCreated.seconds;
  }

  #enterList({ account_id, kind, id }: ObjectPlace): void {
    const key = listKey(account_id, kind);
    const list = this.#lists.get(key);
    if (!list) {
      this.#lists.set(key, { count: 1, newest: id, ids: undefined });
      return;
    }
    list.count += 1;
    if (id > list.newest) list.newest = id;
    if (list.ids) insertId(list.ids, id);
  }

  #leaveList({ account_id, kind, id }: ObjectPlace): void {
    const key = listKey(account_id, kind);
    const list = this.#lists.get(key);
    if (!list) return;
    list.count -= 1;
    if (list.count === 0) this.#lists.delete(key);
    else if (list.ids) removeIds(list.ids, [id]);
  }

  #idsOf(list: string): string[] {
    const ids: string[] = [];
    for (const [number, common] of this.#commonOf.entries()) {
      if (common && listKey(common.account_id, common.kind) === list) ids.push(this.#textsOf(number).id);
    }
    return ids.sort();
  }

  #enterCommon({ kind, account_id }: ObjectPlace, text: string): Common {
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

  #leaveCommon(common: Common): void {
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
