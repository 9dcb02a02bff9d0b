/** The committed objects of packed kinds: two texts of each, parsed on request. */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Doc } from "../../schema/doc.ts";
import type { PackedObjects as SentObjects, Packing } from "../../schema/packed.ts";
import { Digests } from "../../lib/collections/digests.ts";
import type { Kinds } from "../rows/kinds.ts";
import { PackedTexts } from "../../lib/collections/packed-texts.ts";
import { PackedRow } from "../rows/packed-row.ts";
import { Part } from "./packed-part.ts";
import type { Rows } from "../rows/rows.ts";
import { insertId, removeIds } from "../rows/sorted-ids.ts";
import type { StoredObject } from "../store.ts";
import { indexEntriesOf, kindNamed, listKey } from "../rows/state-view.ts";
import type { IndexEntries } from "../rows/state-view.ts";
import type { CommonValues } from "./common-values.ts";

/** The objects of one account and kind. */
interface ObjectList {
  readonly kind: string;
  readonly accountId: string;
  count: number;
  /** All ids, ascending; undefined until the first request. */
  ids: string[] | undefined;
}

/** Separates an id, which contains no space, from the own values. */
const cut = " ";

/** Each object has a number. Its data are in arrays, so that a start creates no JavaScript object for it. */
export class PackedState {
  readonly #kinds: Kinds;
  /** Ids and own values. */
  readonly #texts = new PackedTexts();
  readonly #commonOf: (CommonValues | undefined)[] = [];
  readonly #revisionOf: number[] = [];
  /** Whole seconds since 1970. */
  readonly #createdAtOf: number[] = [];
  /** Numbers of deleted objects. */
  readonly #free: number[] = [];
  readonly #commons = new Map<string, CommonValues>();
  /** Common values of the last object. Its neighbor usually has the same ones. */
  #last: CommonValues | undefined;
  readonly #lists = new Map<string, ObjectList>();
  #lastList: ObjectList | undefined;
  readonly #ids = new Digests();
  /** Numbers by the keys of the declaration: claimed names, and referenced ids. */
  readonly #keys = new Digests();
  readonly #row = new PackedRow();

  constructor(kinds: Kinds) {
    this.#kinds = kinds;
  }

  /** Returns the present object, a new instance each time. */
  get(id: string): StoredObject | undefined {
    const number = this.#numberOf(id);
    return number === undefined ? undefined : this.#read(number);
  }

  /** @param kinds default: all */
  *all(kinds?: ReadonlySet<string>): Iterable<StoredObject> {
    for (const [number, common] of this.#commonOf.entries()) {
      if (common && (!kinds || kinds.has(common.kind))) yield this.#read(number);
    }
  }

  /** Returns the objects in the form for sending. */
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

  /** Adds an object that is not stored here yet. */
  put({ id, kind, account_id, revision, created_at, doc }: StoredObject): void {
    const packing = this.#packingOf(kind);
    const { own, common } = packing.pack(doc);
    const number = this.#enter(kind, account_id, common, revision, Date.parse(created_at));
    this.#texts.put(number, id + cut + own);
    this.#ids.add(id, number);
    for (const key of keysOf(packing, doc)) this.#keys.add(key, number);
    const { ids } = this.#listOf(kind, account_id);
    if (ids) insertId(ids, id);
  }

  /**
   * Adds the current row, before the first request for a list. Creates only its common values.
   * @returns whether that was possible, see `PackedRow`
   */
  putRow(rows: Rows): boolean {
    const { kind, accountId, revision, createdAt, bytes, id, doc } = rows;
    const row = this.#row;
    if (Number.isNaN(revision + createdAt) || !row.read(rows, this.#packingOf(kind))) return false;
    const number = this.#enter(kind, accountId, row.common, revision, createdAt);
    this.#texts.putBytes(number, bytes, id, row.ownEnd);
    this.#ids.addBytes(bytes, id, doc - 1, number);
    for (let at = 0; at < row.places.length; at += 1) {
      if (!row.places.isRepeated(bytes, at))
        this.#keys.addBytes(bytes, row.places.start(at), row.places.end(at), number);
    }
    return true;
  }

  /** Prepares the added rows for use. */
  settle(): void {
    this.#ids.settle();
    this.#keys.settle();
  }

  /** Removes an object. Does nothing if it is not stored here. */
  remove({ id, kind, account_id, doc }: StoredObject): void {
    const number = this.#numberOf(id);
    if (number === undefined) return;
    for (const key of keysOf(this.#packingOf(kind), doc)) this.#keys.remove(key, number);
    this.#ids.remove(id, number);
    const list = this.#listOf(kind, account_id);
    list.count -= 1;
    if (list.ids) removeIds(list.ids, [id]);
    if (list.count === 0) {
      this.#lists.delete(listKey(account_id, kind));
      this.#lastList = undefined;
    }
    this.#leaveCommon(this.#commonOf[number] as CommonValues);
    this.#commonOf[number] = undefined;
    this.#texts.drop(number);
    this.#free.push(number);
  }

  holderId(claim: string): string | undefined {
    return this.#entered(lastPart(claim)).find((one) => one.entries.claims.includes(claim))?.id;
  }

  /** Number of ids in a list. */
  count(list: string): number {
    return this.#lists.get(list)?.count ?? this.idsOf(list).length;
  }

  /** Returns the ids of an account's objects of one kind, or of an owner's objects, ascending. */
  idsOf(list: string): readonly string[] {
    const known = this.#lists.get(list);
    if (known) return (known.ids ??= this.#idsOf(list));
    return this.#entered(lastPart(list))
      .filter(({ entries }) => entries.lists.includes(list))
      .map(({ id }) => id)
      .sort();
  }

  /** Ascending. */
  referrerIds(target: string): string[] {
    return this.#entered(target)
      .filter(({ entries }) => entries.targets.has(target))
      .map(({ id }) => id)
      .sort();
  }

  #packingOf(kind: string): Packing {
    return kindNamed(this.#kinds, kind).packing as Packing;
  }

  #numberOf(id: string): number | undefined {
    return this.#ids.candidates(id).find((number) => this.#texts.begins(number, id + cut));
  }

  #textsOf(number: number): { readonly id: string; readonly own: string } {
    const text = this.#texts.read(number);
    const end = text.indexOf(cut);
    return { id: text.slice(0, end), own: text.slice(end + 1) };
  }

  /** Returns the objects that may have the key. */
  #entered(key: string): { readonly id: string; readonly entries: IndexEntries }[] {
    return this.#keys.candidates(key).map((number) => {
      const object = this.#read(number);
      return { id: object.id, entries: indexEntriesOf(this.#kinds, object) };
    });
  }

  #read(number: number): StoredObject {
    const { id, own } = this.#textsOf(number);
    const { kind, account_id, values } = this.#commonOf[number] as CommonValues;
    const { complete } = kindNamed(this.#kinds, kind);
    const doc = complete(this.#packingOf(kind).unpack(JSON.parse(own) as unknown[], values));
    const created_at = formatTimestamp((this.#createdAtOf[number] as number) * 1000);
    return Object.freeze({ kind, id, account_id, revision: this.#revisionOf[number] as number, created_at, doc });
  }

  /** Returns the number for one more object of a list. @param createdAt milliseconds since 1970 */
  #enter(kind: string, accountId: string, common: string, revision: number, createdAt: number): number {
    const number = this.#free.pop() ?? this.#commonOf.length;
    this.#commonOf[number] = this.#enterCommon(kind, accountId, common);
    this.#revisionOf[number] = revision;
    this.#createdAtOf[number] = createdAt / 1000;
    this.#listOf(kind, accountId).count += 1;
    return number;
  }

  /** Returns the list, and creates it if there is none. */
  #listOf(kind: string, accountId: string): ObjectList {
    let list = this.#lastList;
    if (list?.kind === kind && list.accountId === accountId) return list;
    const key = listKey(accountId, kind);
    list = this.#lists.get(key);
    if (!list) this.#lists.set(key, (list = { kind, accountId, count: 0, ids: undefined }));
    this.#lastList = list;
    return list;
  }

  #idsOf(list: string): string[] {
    const ids: string[] = [];
    for (const [number, common] of this.#commonOf.entries()) {
      if (common && listKey(common.account_id, common.kind) === list) ids.push(this.#textsOf(number).id);
    }
    return ids.sort();
  }

  #enterCommon(kind: string, account_id: string, text: string): CommonValues {
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

  #leaveCommon(common: CommonValues): void {
    common.uses -= 1;
    if (common.uses > 0) return;
    this.#commons.delete(`${common.account_id}\0${common.kind}\0${common.text}`);
    if (this.#last === common) this.#last = undefined;
  }
}

/** Returns the name in a `claimKey`, or the id in a `childrenKey`. */
function lastPart(key: string): string {
  return key.slice(key.indexOf("\0", key.indexOf("\0") + 1) + 1);
}

/** Returns each key once. */
function keysOf(packing: Packing, doc: Doc): Set<string> {
  return new Set(packing.keysOf(doc).filter((key) => typeof key === "string"));
}
