import type { Kinds } from "./kinds.ts";
import type { Change, StoredObject } from "../store.ts";
import { kindNamed } from "./view.ts";

/** How many bytes the objects of each account have. */
export class Usage {
  readonly #base: Usage | undefined;
  readonly #bytes = new Map<string, number>();

  /** @param base what is there already, and does not know of what is added here */
  constructor(base?: Usage) {
    this.#base = base;
  }

  bytes(accountId: string): number {
    return (this.#bytes.get(accountId) ?? 0) + (this.#base?.bytes(accountId) ?? 0);
  }

  add(added: Iterable<readonly [accountId: string, bytes: number]>): void {
    for (const [accountId, bytes] of added) this.#bytes.set(accountId, (this.#bytes.get(accountId) ?? 0) + bytes);
  }

  /** What was added here. */
  added(): Iterable<readonly [accountId: string, bytes: number]> {
    return this.#bytes;
  }
}

/** What changes add to the bytes of each account; less than 0 where they take away. */
export function bytesAdded(kinds: Kinds, changes: Iterable<Change>): ReadonlyMap<string, number> {
  const added = new Map<string, number>();
  for (const { kind, before, after } of changes) {
    if (kindNamed(kinds, kind).unrecorded) continue;
    const { account_id } = (after ?? before) as StoredObject;
    added.set(account_id, (added.get(account_id) ?? 0) + (after ? bytesOf(after) : 0) - (before ? bytesOf(before) : 0));
  }
  return added;
}

/** The same before and after a restart: of the document as it is in memory, not of how it is sealed. */
export function bytesOf({ doc }: StoredObject): number {
  return Buffer.byteLength(JSON.stringify(doc));
}
