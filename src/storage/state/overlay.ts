import type { Kinds } from "../rows/kinds.ts";
import { idsBelow, insertId, removeIds } from "../rows/sorted-ids.ts";
import type { Change, StoredObject } from "../store.ts";
import { indexEntriesOf } from "../rows/state-view.ts";
import type { View } from "../rows/state-view.ts";

interface ListChange {
  readonly added: string[];
  readonly removed: Set<string>;
}

/** Changes on top of a view, which they do not modify. */
export class Overlay implements View {
  readonly #kinds: Kinds;
  readonly #base: View;
  readonly #changes = new Map<string, Change>();
  readonly #lists = new Map<string, ListChange>();
  readonly #claims = new Map<string, string | undefined>();
  readonly #referrers = new Map<string, Map<string, boolean>>();

  constructor(kinds: Kinds, base: View) {
    this.#kinds = kinds;
    this.#base = base;
  }

  object(id: string): StoredObject | undefined {
    const change = this.#changes.get(id);
    return change ? change.after : this.#base.object(id);
  }

  idsBelow(list: string, below: string | undefined, limit: number): string[] {
    const change = this.#lists.get(list);
    if (!change) return this.#base.idsBelow(list, below, limit);
    const { added, removed } = change;
    const ids = this.#base.idsBelow(list, below, limit + removed.size).filter((id) => !removed.has(id));
    if (added.length === 0) return ids.slice(0, limit);
    return [...ids, ...idsBelow(added, below, limit)].sort((a, b) => (a < b ? 1 : -1)).slice(0, limit);
  }

  count(list: string): number {
    const change = this.#lists.get(list);
    return this.#base.count(list) + (change ? change.added.length - change.removed.size : 0);
  }

  holderId(claimKey: string): string | undefined {
    return this.#claims.has(claimKey) ? this.#claims.get(claimKey) : this.#base.holderId(claimKey);
  }

  *referrerIds(id: string): Iterable<string> {
    const changed = this.#referrers.get(id);
    for (const referrer of this.#base.referrerIds(id)) {
      if (changed?.get(referrer) !== false) yield referrer;
    }
    if (!changed) return;
    const known = new Set(this.#base.referrerIds(id));
    for (const [referrer, refers] of changed) {
      if (refers && !known.has(referrer)) yield referrer;
    }
  }

  /**
   * Returns the changes: one entry per object, in the order of first changes. Objects that were created and deleted
   * again have none.
   */
  *changes(): Iterable<Change> {
    for (const change of this.#changes.values()) {
      if (change.before || change.after) yield change;
    }
  }

  /** Applies the changes of a write on top of this overlay. */
  merge(changes: Iterable<Change>): void {
    for (const { kind, id, before, after } of changes) this.put(kind, id, before, after);
  }

  /** Replaces the present state `before` of an object with `after`. */
  put(kind: string, id: string, before: StoredObject | undefined, after: StoredObject | undefined): void {
    const first = this.#changes.get(id);
    this.#changes.set(id, { kind, id, before: first ? first.before : before, after });
    const was = before && indexEntriesOf(this.#kinds, before);
    const is = after && indexEntriesOf(this.#kinds, after);
    for (const list of was?.lists ?? []) {
      if (!is?.lists.includes(list)) this.#unlist(list, id);
    }
    for (const list of is?.lists ?? []) {
      if (!was?.lists.includes(list)) this.#list(list, id);
    }
    for (const claim of was?.claims ?? []) {
      if (this.holderId(claim) === id) this.#claims.set(claim, undefined);
    }
    for (const claim of is?.claims ?? []) this.#claims.set(claim, id);
    for (const target of was?.targets ?? []) this.#refer(target, id, false);
    for (const target of is?.targets ?? []) this.#refer(target, id, true);
  }

  #listChange(list: string): ListChange {
    let change = this.#lists.get(list);
    if (!change) this.#lists.set(list, (change = { added: [], removed: new Set() }));
    return change;
  }

  #list(list: string, id: string): void {
    const { added, removed } = this.#listChange(list);
    if (!removed.delete(id)) insertId(added, id);
  }

  #unlist(list: string, id: string): void {
    const { added, removed } = this.#listChange(list);
    const count = added.length;
    removeIds(added, [id]);
    if (added.length === count) removed.add(id);
  }

  #refer(target: string, id: string, refers: boolean): void {
    const changed = this.#referrers.get(target);
    if (changed) changed.set(id, refers);
    else this.#referrers.set(target, new Map([[id, refers]]));
  }
}
