import type { Kinds } from "./kinds.ts";
import type { Change, StoredObject } from "../store.ts";
import { kindNamed } from "./state-view.ts";

/** Total bytes of the objects of each account. */
export class Usage {
  readonly #base: Usage | undefined;
  readonly #bytes = new Map<string, number>();

  /** @param base existing bytes; additions here do not change it */
  constructor(base?: Usage) {
    this.#base = base;
  }

  bytes(accountId: string): number {
    return (this.#bytes.get(accountId) ?? 0) + (this.#base?.bytes(accountId) ?? 0);
  }

  add(added: Iterable<readonly [accountId: string, bytes: number]>): void {
    for (const [accountId, bytes] of added) this.#bytes.set(accountId, (this.#bytes.get(accountId) ?? 0) + bytes);
  }

  /** Returns the additions to this instance. */
  added(): Iterable<readonly [accountId: string, bytes: number]> {
    return this.#bytes;
  }
}

/** Returns how much the changes add to the bytes of each account; negative if they remove bytes. */
export function bytesAdded(kinds: Kinds, changes: Iterable<Change>): ReadonlyMap<string, number> {
  const added = new Map<string, number>();
  for (const { kind, before, after } of changes) {
    if (kindNamed(kinds, kind).unrecorded) continue;
    const { account_id } = (after ?? before) as StoredObject;
    added.set(account_id, (added.get(account_id) ?? 0) + (after ? bytesOf(after) : 0) - (before ? bytesOf(before) : 0));
  }
  return added;
}

/** Same before and after a restart: it measures the document in memory, not its sealed form. */
export function bytesOf({ doc }: StoredObject): number {
  return Buffer.byteLength(JSON.stringify(doc));
}
