/**
 * What the control plane asks of storage. The current state of every object is held in memory and every
 * committed write is in the database before it is answered; so reads never wait for a disk, and the rules
 * (references, unique names, ownership) are the same on both databases.
 */
import type { ResourceObject } from "../schema/object.ts";

/** An object as kept. `doc` is complete and valid; secrets in it are open in memory and sealed at rest. */
export type StoredObject = ResourceObject & { readonly created_at: string };

export interface Principal {
  readonly accountId: string;
  /** Id of the API key, or "system". */
  readonly id: string;
  /** Address that the request came from, where there was one. */
  readonly source?: string;
}

export interface WriteContext {
  readonly principal: Principal;
  /** e.g. `createIPPolicyRule`. */
  readonly operation: string;
  readonly operationId: string;
  readonly reason?: string;
}

/** A committed write, as subscribers see it, in revision order. */
export interface Commit {
  readonly revision: number;
  readonly accountId: string;
  readonly changes: readonly {
    readonly kind: string;
    readonly id: string;
    readonly before: StoredObject | undefined;
    readonly after: StoredObject | undefined;
  }[];
}

export interface PageRequest {
  readonly limit: number;
  /** Exclusive; need not exist any more. */
  readonly beforeId?: string;
  /** Only children of this owner. */
  readonly parentId?: string;
}

export interface Reader {
  /** The object, if it exists in this account. */
  get(accountId: string, kind: string, id: string): StoredObject | undefined;
  /** Newest first. `more` when at least one older object follows. */
  page(
    accountId: string,
    kind: string,
    request: PageRequest,
  ): { readonly objects: readonly StoredObject[]; readonly more: boolean };
  /** Objects of `kind` owned by `parentId`, oldest first. */
  children(kind: string, parentId: string): readonly StoredObject[];
  /** Who holds a claimed name. */
  holder(accountId: string, space: string, name: string): StoredObject | undefined;
  /** Objects whose stored references include `id`. */
  referrers(id: string): readonly StoredObject[];
}

/**
 * A write in the making: reads see what it has done so far. It throws `Refusal`s for unknown references
 * (`reference_unknown`), held names, and deletes of what is in use; a throw undoes the whole write.
 */
export interface Draft extends Reader {
  create(accountId: string, kind: string, doc: Readonly<Record<string, unknown>>): StoredObject;
  replace(object: StoredObject, doc: Readonly<Record<string, unknown>>): StoredObject;
  /** Deletes it and, first, what it owns. */
  delete(object: StoredObject): void;
}

export interface Store extends Reader {
  /** Revision of the last committed write. */
  readonly revision: number;
  /**
   * Runs `work` (synchronous, no side effects) on the state as of all earlier writes, and resolves once its
   * changes are durable. Writes of one event-loop turn share a commit. Rejects with `work`'s error, or with
   * `write_unavailable`; in both cases nothing has changed.
   */
  write<T>(
    context: WriteContext,
    work: (draft: Draft) => T,
  ): Promise<{ readonly revision: number; readonly result: T }>;
  /** Runs `work` and forgets it: what would a write do? */
  rehearse<T>(work: (draft: Draft) => T): T;
  /** Called after each commit, in order, before the writer is answered. */
  subscribe(listener: (commit: Commit) => void): void;
  /** All current objects of the kinds, in no particular order. */
  objects(kinds: ReadonlySet<string>): Iterable<StoredObject>;
  /** Finishes what is queued, then releases the database. */
  close(): Promise<void>;
}
