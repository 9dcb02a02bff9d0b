import type { Kinds } from "../rows/kinds.ts";
import { idsBelow, insertId, removeIds } from "../rows/sorted-ids.ts";
import type { Account, Change, StoredObject } from "../store.ts";
import type { PackedObjects as Part } from "../../schema/packed.ts";
import { PackedState } from "./packed-objects.ts";
import type { Rows } from "../rows/rows.ts";
import { indexEntriesOf, kindNamed } from "../rows/state-view.ts";
import type { IndexEntries, View } from "../rows/state-view.ts";
import { docOf } from "../../schema/doc.ts";
import { account as accounts } from "../../resources/account.ts";

/** Every committed object, indexed. The cost of a change depends only on the change. */
export class State implements View {
  readonly #kinds: Kinds;
  readonly #objects = new Map<string, StoredObject>();
  readonly #packed: PackedState;
  /** Most lists have one entry, which is stored directly: an array or set would take more memory than the object. */
  readonly #lists = new Map<string, string | string[]>();
  readonly #claims = new Map<string, string>();
  readonly #referrers = new Map<string, string | Set<string>>();
  #accounts: readonly Account[] = [];

  constructor(kinds: Kinds) {
    this.#kinds = kinds;
    this.#packed = new PackedState(kinds);
  }

  object(id: string): StoredObject | undefined {
    return this.#objects.get(id) ?? this.#packed.get(id);
  }

  idsBelow(list: string, below: string | undefined, limit: number): string[] {
    const ids = this.#lists.get(list) ?? this.#packed.idsOf(list);
    if (typeof ids !== "string") return idsBelow(ids, below, limit);
    return limit > 0 && (below === undefined || ids < below) ? [ids] : [];
  }

  count(list: string): number {
    const ids = this.#lists.get(list);
    if (ids === undefined) return this.#packed.count(list);
    return typeof ids === "string" ? 1 : ids.length;
  }

  holderId(claimKey: string): string | undefined {
    return this.#claims.get(claimKey) ?? this.#packed.holderId(claimKey);
  }

  referrerIds(id: string): Iterable<string> {
    const ids = this.#referrers.get(id) ?? [];
    return [...(typeof ids === "string" ? [ids] : ids), ...this.#packed.referrerIds(id)];
  }

  /** @param kinds default: all */
  *objects(kinds?: ReadonlySet<string>): Iterable<StoredObject> {
    for (const object of this.#objects.values()) if (!kinds || kinds.has(object.kind)) yield object;
    const isPacked = (kind: string): boolean => this.#kinds.get(kind)?.packing !== undefined;
    if (!kinds || [...kinds].some(isPacked)) yield* this.#packed.all(kinds);
  }

  packed(kind: string): Iterable<Part> {
    return this.#packed.parts(kind);
  }

  accounts(): readonly Account[] {
    return this.#accounts;
  }

  /** Adds a new object. */
  load(object: StoredObject): void {
    if (kindNamed(this.#kinds, object.kind).packing) this.#packed.put(object);
    else this.#enter(object, indexEntriesOf(this.#kinds, object));
    if (object.kind === "account") this.#renewAccounts(object.id, object);
  }

  /** Adds the row of a packed kind if possible, see `PackedObjects.putRow`. */
  loadRow(rows: Rows): boolean {
    return this.#packed.putRow(rows);
  }

  /** Call this when all objects are loaded. */
  settle(): void {
    this.#packed.settle();
  }

  /** Applies the changes of a write. */
  merge(changes: Iterable<Change>): void {
    const gone = new Map<string, string[]>();
    for (const { id, before, after } of changes) {
      const was = before && indexEntriesOf(this.#kinds, before);
      const is = after && indexEntriesOf(this.#kinds, after);
      if (was) this.#withdraw(before, was, is, gone);
      if (after && kindNamed(this.#kinds, after.kind).packing) {
        // A plain object may replace a packed one that `before` does not contain.
        const present = before ? undefined : this.#packed.get(id);
        if (present) this.#packed.remove(present);
        this.#packed.put(after);
      } else if (after && is) this.#enter(after, is);
      else this.#objects.delete(id);
      if ((before ?? after)?.kind === "account") this.#renewAccounts(id, after);
    }
    for (const [list, ids] of gone) {
      const from = this.#lists.get(list);
      if (from === undefined) continue;
      const left = typeof from === "string" ? [from] : from;
      removeIds(left, ids);
      if (left.length === 0) this.#lists.delete(list);
    }
  }

  #enter(object: StoredObject, is: IndexEntries): void {
    const { id } = object;
    this.#objects.set(id, object);
    for (const list of is.lists) this.#list(list, id);
    for (const claim of is.claims) this.#claims.set(claim, id);
    for (const target of is.targets) {
      const referrers = this.#referrers.get(target);
      if (referrers === undefined) this.#referrers.set(target, id);
      else if (typeof referrers !== "string") referrers.add(id);
      else if (referrers !== id) this.#referrers.set(target, new Set([referrers, id]));
    }
  }

  #list(list: string, id: string): void {
    const ids = this.#lists.get(list);
    if (ids === undefined) this.#lists.set(list, id);
    else if (typeof ids !== "string") insertId(ids, id);
    else if (ids !== id) this.#lists.set(list, ids < id ? [ids, id] : [id, ids]);
  }

  #withdraw(object: StoredObject, was: IndexEntries, is: IndexEntries | undefined, gone: Map<string, string[]>): void {
    const { id } = object;
    for (const list of was.lists) {
      if (is?.lists.includes(list)) continue;
      const ids = gone.get(list);
      if (ids) ids.push(id);
      else gone.set(list, [id]);
    }
    this.#packed.remove(object);
    for (const claim of was.claims) {
      // Within one write the name may have moved to another object, which was entered first.
      if (this.#claims.get(claim) === id) this.#claims.delete(claim);
    }
    for (const target of was.targets) {
      if (is?.targets.has(target)) continue;
      const referrers = this.#referrers.get(target);
      if (referrers === id) this.#referrers.delete(target);
      if (referrers === undefined || typeof referrers === "string") continue;
      referrers.delete(id);
      if (referrers.size === 0) this.#referrers.delete(target);
    }
  }

  #renewAccounts(id: string, after: StoredObject | undefined): void {
    const otherAccounts = this.#accounts.filter((account) => account.id !== id);
    if (after) otherAccounts.push({ id, name: docOf(after, accounts).name, created_at: after.created_at });
    this.#accounts = otherAccounts.sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
