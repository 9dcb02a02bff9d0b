/**
 * Interface between the control plane and storage. Memory holds the current state of every object, and a write is
 * acknowledged only when the database has it. So reads never wait for a disk, and the rules (references, unique names,
 * ownership) are the same on both databases.
 */
import type { Doc } from "../schema/doc.ts";
import type { Job, Jobs } from "./cluster/jobs.ts";
import type { InboxStore } from "./inbox/inbox-store.ts";
import type { Membership } from "./cluster/membership.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { PackedObjects } from "../schema/packed.ts";

/** A stored object. `doc` is complete and valid. Its secrets are open in memory and sealed at rest. */
export type StoredObject<D = Doc> = ResourceObject<D> & { readonly created_at: string };

interface Principal {
  readonly accountId: string;
  /** Id of the API key, or "system". */
  readonly id: string;
  /** Address of the request, if the write came from one. */
  readonly source?: string;
}

export interface WriteContext {
  readonly principal: Principal;
  /** For example `createIPPolicyRule`. */
  readonly operation: string;
  readonly operationId: string;
  readonly reason?: string;
  /** Checks all changes of the work before they take effect. A throw undoes the write. */
  readonly judge?: Judge;
  /** Job that the write belongs to. The write is rejected if another node holds the job by now. */
  readonly job?: Job;
}

export type Judge = (draft: Draft) => void;

/** A committed write. Subscribers receive commits in revision order. */
export interface Commit {
  readonly revision: number;
  readonly accountId: string;
  /** One per object: its state before and after the write. */
  readonly changes: readonly Change[];
}

export interface PageRequest {
  readonly limit: number;
  /** Exclusive. The object with this id may already be deleted. */
  readonly beforeId?: string;
  /** Returns only children of this owner. */
  readonly parentId?: string;
}

export interface Reader {
  /** Returns the object if it exists in this account. */
  get(accountId: string, kind: string, id: string): StoredObject | undefined;
  /** Returns a page, newest first. `more` is true if at least one older object follows. */
  page(
    accountId: string,
    kind: string,
    request: PageRequest,
  ): { readonly objects: readonly StoredObject[]; readonly more: boolean };
  /** Returns the objects of `kind` owned by `parentId`, oldest first. */
  children(kind: string, parentId: string): readonly StoredObject[];
  /** Returns the object that holds a claimed name. The holder of a global name may belong to another account. */
  holder(accountId: string, space: string, name: string): StoredObject | undefined;
  /** Returns the objects whose stored references include `id`. */
  referrers(id: string): readonly StoredObject[];
}

/**
 * A write in progress. Reads see its changes so far. Throws a `Refusal` for unknown references (`reference_unknown`),
 * for names that are in use, and for deletes of objects in use. A throw undoes the whole write.
 */
export interface Draft extends Reader {
  create(accountId: string, kind: string, doc: Doc): StoredObject;
  replace(object: StoredObject, doc: Doc): StoredObject;
  /** Deletes the objects that it owns, then the object. */
  delete(object: StoredObject): void;
  /** Restores a deleted object under its id, with the given content. */
  revive(object: StoredObject): StoredObject;
  /**
   * Runs `work` and checks the rules between objects once, at its end, so the order of its steps does not matter. A
   * refusal names its object as `object_id` and `object_kind` in its details.
   */
  together<T>(work: () => T): T;
  /** Changes of this write so far: one per object, with its state before and now. */
  changes(): readonly Change[];
  /** Revision of this write. The revisions between the last committed one and this one are in the same commit. */
  readonly revision: number;
}

/** A key that only the holder of the operator's key can derive. Plain data, so that it can cross threads. */
export interface DerivedKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** A tenant, which is also a stored object of the kind "account". */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

/** Makes a write happen only once: a second write with the same key gets the result of the first. */
export interface Once<T> {
  /** Chosen by the client. Unique in the principal's account for 24 hours. */
  readonly key: string;
  /** Hash of the request. A different fingerprint under the same key is rejected with `idempotency_reused`. */
  readonly fingerprint: string;
  /** The response as text, stored sealed in the same commit. */
  answer(result: T, revision: number): string;
}

export interface Written<T> {
  readonly revision: number;
  readonly result: T;
  readonly replayed?: undefined;
}

/** The write happened earlier. `replayed` is its stored response. */
export interface Replayed {
  readonly revision: number;
  readonly result?: undefined;
  readonly replayed: string;
}

/** One line of the audit log: author, operation and time of a write. */
export interface Revision {
  readonly revision: number;
  readonly at: string;
  readonly account_id: string;
  readonly principal: string;
  readonly operation: string;
  readonly operation_id: string;
  readonly source: string | null;
  readonly reason: string | null;
  /** SHA-256 over the previous revision's hash and this revision's content, hexadecimal. */
  readonly hash: string;
}

/** In the past, a change with neither `before` nor `after` deletes an object that was stored without history. */
export interface Change {
  readonly kind: string;
  readonly id: string;
  readonly before: StoredObject | undefined;
  readonly after: StoredObject | undefined;
}

export interface RevisionsRequest {
  readonly limit: number;
  /** Exclusive. */
  readonly before?: number;
  /** Returns only writes by this principal. */
  readonly principal?: string;
  /** Returns only this operation. */
  readonly operation?: string;
  /** Returns only writes that changed an object of this kind in the account. */
  readonly kind?: string;
  /** Returns only writes that changed this object in the account. */
  readonly objectId?: string;
}

/**
 * The past, read from the database. Rejects with the database's error if the database does not respond, and with
 * `revision_pruned` if the requested revision was pruned.
 */
export interface History {
  /** Oldest revision still stored; 1 until something is pruned. */
  readonly oldest: number;
  /** Returns the object as of `revision` if it existed then. */
  objectAt(revision: number, accountId: string, kind: string, id: string): Promise<StoredObject | undefined>;
  /** Same as `Reader.page`, as of `revision`. */
  /**
   * Returns the objects of `kind` that each of `parentIds` owned then, oldest first. Reads the kind once for any number
   * of owners, and yields to other work meanwhile.
   */
  childrenAt(
    revision: number,
    accountId: string,
    kind: string,
    parentIds: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, readonly StoredObject[]>>;
  pageAt(
    revision: number,
    accountId: string,
    kind: string,
    request: PageRequest,
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly more: boolean }>;
  /** Returns writes by the account's principals, newest first. */
  revisions(
    accountId: string,
    request: RevisionsRequest,
  ): Promise<{ readonly revisions: readonly Revision[]; readonly more: boolean }>;
  /** Returns the changes of one write in the account, in order. Maximum: `limit`. */
  changesOf(accountId: string, revision: number, limit?: number): Promise<readonly Change[]>;
  /**
   * Returns every object of the account that changed after `revision`, as it was at that revision. Maximum: `limit`.
   */
  changedSince(
    accountId: string,
    revision: number,
    limit: number,
  ): Promise<readonly { readonly kind: string; readonly id: string; readonly past: StoredObject | undefined }[]>;
  /**
   * Recomputes the hash chain, from the anchor if its beginning was pruned. `brokenAt` is the first revision whose hash
   * does not match its content. It is the last pruned revision if the remaining rows of pruned revisions have changed.
   */
  verify(): Promise<{ readonly revisions: number; readonly brokenAt?: number }>;
  /** Calls `listener` with the reason why pruning is on hold, or undefined while pruning runs, and on each change. */
  onHeld(listener: (why: string | undefined) => void): void;
}

/** A position in the history: after a revision's change at `position`. */
export interface Cursor {
  readonly revision: number;
  readonly position: number;
}

/** One change, as readers of the history get it. */
export interface PastChange extends Change {
  readonly at: Cursor;
  readonly time: string;
  readonly principal: string;
  readonly operation: string;
  readonly operationId: string;
}

/** The history for readers that process every change once, in order, from their last position. */
export interface Feed {
  /** Returns changes of the account's objects of some kinds after `from`, oldest first. Maximum: `limit`. */
  after(
    accountId: string,
    from: Cursor,
    wanted: { readonly kinds: readonly string[]; readonly limit: number },
  ): Promise<readonly PastChange[]>;
  cursors(): Promise<ReadonlyMap<string, Cursor>>;
  /** Stores a position under a name with the next commit, soon. Undefined deletes it. */
  keep(name: string, cursor: Cursor | undefined): void;
}

export interface Store extends Reader {
  /** Revision of the last committed write. */
  readonly revision: number;
  /**
   * Number of commits since the start, including commits without a revision. While it is unchanged, no stored data has
   * changed.
   */
  readonly commits: number;
  /**
   * Runs `work` (synchronous, no side effects) on the state as of all earlier writes, and resolves when its changes are
   * durable. Writes of one event-loop turn share a commit. Rejects with `work`'s error, or with `write_unavailable`; in
   * both cases nothing has changed. A write without changes gets no revision.
   */
  write<T>(context: WriteContext, work: (draft: Draft) => T): Promise<Written<T>>;
  write<T>(context: WriteContext, work: (draft: Draft) => T, once: Once<T>): Promise<Written<T> | Replayed>;
  /** Runs `work` and discards its changes, to preview a write. */
  rehearse<T>(work: (draft: Draft) => T, judge?: Judge): T;
  /** Calls `listener` after each commit, in order, before the writer gets its result. */
  subscribe(listener: (commit: Commit) => void): void;
  /** Returns all current objects of the kinds, in no particular order. */
  objects(kinds: ReadonlySet<string>): Iterable<StoredObject>;
  /**
   * Returns the objects of a packed kind in the form for sending, in parts of about 1 MiB. The caller owns the parts.
   */
  packed(kind: string): Iterable<PackedObjects>;
  /** Returns every account, oldest first. The first one is the default account. */
  accounts(): readonly Account[];
  /** Adds an account. Rejects a name that is in use. */
  createAccount(name: string): Promise<Account>;
  readonly history: History;
  readonly feed: Feed;
  /** `unavailable`: the last write could not be stored. `superseded`: another process has taken over the database. */
  readonly condition: "open" | "unavailable" | "superseded";
  /** Work that only one node may do at a time. */
  readonly jobs: Jobs;
  /** Messages of inboxes, which are not part of the state. Undefined for a database without a place. */
  readonly inbox?: InboxStore | undefined;
  /** Defined if other nodes may also write to the database. */
  readonly node?: Membership;
  /** Returns a key for this use from each data key of the database, oldest first. */
  derivedKeys(use: string): readonly DerivedKey[];
  /** Time for irreversible decisions, see `SettledTime`. */
  settledNow(): number;
  /** Applies the commits of other nodes up to now. Returns whether there were any. */
  refresh(): Promise<boolean>;
  /** Finishes queued writes, then releases the database. May be called again. */
  close(): Promise<void>;
}
