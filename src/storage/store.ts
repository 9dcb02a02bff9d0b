/**
 * What the control plane asks of storage. The current state of every object is held in memory and every
 * committed write is in the database before it is answered; so reads never wait for a disk, and the rules
 * (references, unique names, ownership) are the same on both databases.
 */
import type { Doc } from "../schema/doc.ts";
import type { Job, Jobs } from "./cluster/jobs.ts";
import type { Membership } from "./cluster/membership.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { PackedObjects } from "../schema/packed.ts";

/** An object as kept. `doc` is complete and valid; secrets in it are open in memory and sealed at rest. */
export type StoredObject<D = Doc> = ResourceObject<D> & { readonly created_at: string };

interface Principal {
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
  /** Looks at everything that the work has done, before any of it counts; a throw undoes the write. */
  readonly judge?: Judge;
  /** The write is part of this: it is refused where somebody else has the job by now. */
  readonly job?: Job;
}

export type Judge = (draft: Draft) => void;

/** A committed write, as subscribers see it, in revision order. */
export interface Commit {
  readonly revision: number;
  readonly accountId: string;
  /** One per object: its state before and after the write. */
  readonly changes: readonly Change[];
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
  /** Who holds a claimed name; the holder of a global one may be of another account. */
  holder(accountId: string, space: string, name: string): StoredObject | undefined;
  /** Objects whose stored references include `id`. */
  referrers(id: string): readonly StoredObject[];
}

/**
 * A write in the making: reads see what it has done so far. It throws `Refusal`s for unknown references
 * (`reference_unknown`), held names, and deletes of what is in use; a throw undoes the whole write.
 */
export interface Draft extends Reader {
  create(accountId: string, kind: string, doc: Doc): StoredObject;
  replace(object: StoredObject, doc: Doc): StoredObject;
  /** Deletes it and, first, what it owns. */
  delete(object: StoredObject): void;
  /** Brings a deleted object back under its id, as it is given. */
  revive(object: StoredObject): StoredObject;
  /**
   * Runs `work` with the rules between objects checked once, at its end, so that the order of its steps does
   * not matter. A refusal names the object that it is about as `object_id` and `object_kind` in its details.
   */
  together<T>(work: () => T): T;
  /** What this write has done so far: one per object, its state before and now. */
  changes(): readonly Change[];
  /** The revision that this write gets; those between the last committed one and it run in the same commit. */
  readonly revision: number;
}

/** A tenant; also a stored object of the kind "account". */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

/** Makes a write happen once: a second one with the same key gets what the first one left. */
export interface Once<T> {
  /** As the client chose it; unique in the principal's account for 24 hours. */
  readonly key: string;
  /** Hash of what was asked; another one under the same key is refused with `idempotency_reused`. */
  readonly fingerprint: string;
  /** The answer as text, kept sealed in the same commit. */
  answer(result: T, revision: number): string;
}

export interface Written<T> {
  readonly revision: number;
  readonly result: T;
  readonly replayed?: undefined;
}

/** The write had happened before; `replayed` is the answer that it left. */
export interface Replayed {
  readonly revision: number;
  readonly result?: undefined;
  readonly replayed: string;
}

/** Who wrote what and when: one line of the audit log. */
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

/** With neither `before` nor `after` in the past: a deletion of what was kept without history. */
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
  /** Only writes by this principal. */
  readonly principal?: string;
  /** Only this operation. */
  readonly operation?: string;
  /** Only writes that changed an object of this kind, in the account. */
  readonly kind?: string;
  /** Only writes that changed this object, in the account. */
  readonly objectId?: string;
}

/**
 * The past, read from the database. Rejects with its error when it does not answer, and with `revision_pruned` when
 * the revision asked for is not kept any more.
 */
export interface History {
  /** The oldest revision that is kept; 1 while nothing was pruned. */
  readonly oldest: number;
  /** The object as of `revision`, if it existed then. */
  objectAt(revision: number, accountId: string, kind: string, id: string): Promise<StoredObject | undefined>;
  /** As `Reader.page`, as of `revision`. */
  /**
   * The objects of `kind` that each of `parentIds` owned then, oldest first. It reads the kind once, however many owners
   * there are, and lets others have their turn meanwhile.
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
  /** Writes by the account's principals, newest first. */
  revisions(
    accountId: string,
    request: RevisionsRequest,
  ): Promise<{ readonly revisions: readonly Revision[]; readonly more: boolean }>;
  /** What one write changed in the account, in the order of the changes; at most `limit` of them. */
  changesOf(accountId: string, revision: number, limit?: number): Promise<readonly Change[]>;
  /** Every object of the account that has changed since `revision`, as it was then; at most `limit`. */
  changedSince(
    accountId: string,
    revision: number,
    limit: number,
  ): Promise<readonly { readonly kind: string; readonly id: string; readonly past: StoredObject | undefined }[]>;
  /**
   * Recomputes the hash chain, from the anchor where its beginning was pruned; `brokenAt` is the first revision whose
   * hash is not that of its content, or the last pruned one when what is left of those is not what it was.
   */
  verify(): Promise<{ readonly revisions: number; readonly brokenAt?: number }>;
  /** `listener` is called with why nothing is pruned, undefined while pruning goes on, and each time that it changes. */
  onHeld(listener: (why: string | undefined) => void): void;
}

/** A place in the history: after a revision's change at `position`. */
export interface Cursor {
  readonly revision: number;
  readonly position: number;
}

/** One change as a reader of the history gets it. */
export interface PastChange extends Change {
  readonly at: Cursor;
  readonly time: string;
  readonly principal: string;
  readonly operation: string;
  readonly operationId: string;
}

/** The history for those who act on every change once: read in order, from where they have come. */
export interface Feed {
  /** Changes of the account's objects of some kinds after `from`, oldest first; at most `limit`. */
  after(
    accountId: string,
    from: Cursor,
    wanted: { readonly kinds: readonly string[]; readonly limit: number },
  ): Promise<readonly PastChange[]>;
  cursors(): Promise<ReadonlyMap<string, Cursor>>;
  /** Keeps a place under a name with the next commit, soon; undefined drops it. */
  keep(name: string, cursor: Cursor | undefined): void;
}

export interface Store extends Reader {
  /** Revision of the last committed write. */
  readonly revision: number;
  /** Counts commits since the start, those in no revision too: while it stays, so does everything that is stored. */
  readonly commits: number;
  /**
   * Runs `work` (synchronous, no side effects) on the state as of all earlier writes, and resolves once its
   * changes are durable. Writes of one event-loop turn share a commit. Rejects with `work`'s error, or with
   * `write_unavailable`; in both cases nothing has changed. A write that changes nothing has no revision of
   * its own.
   */
  write<T>(context: WriteContext, work: (draft: Draft) => T): Promise<Written<T>>;
  write<T>(context: WriteContext, work: (draft: Draft) => T, once: Once<T>): Promise<Written<T> | Replayed>;
  /** Runs `work` and forgets it: what would a write do? */
  rehearse<T>(work: (draft: Draft) => T, judge?: Judge): T;
  /** Called after each commit, in order, before the writer is answered. */
  subscribe(listener: (commit: Commit) => void): void;
  /** All current objects of the kinds, in no particular order. */
  objects(kinds: ReadonlySet<string>): Iterable<StoredObject>;
  /** The same of a packed kind as it is sent, in parts of about a mebibyte, which are given away. */
  packed(kind: string): Iterable<PackedObjects>;
  /** Every account, oldest first; the first one is the default account. */
  accounts(): readonly Account[];
  /** Adds an account; a held name is refused. */
  createAccount(name: string): Promise<Account>;
  readonly history: History;
  readonly feed: Feed;
  /** `unavailable`: the last write could not be stored. `superseded`: another process has taken the database over. */
  readonly condition: "open" | "unavailable" | "superseded";
  /** Work of which only one is to be done at a time, however many nodes there are. */
  readonly jobs: Jobs;
  /** There when other nodes may write to the database as well. */
  readonly node?: Membership;
  /** The time for decisions that cannot be taken back, see `SettledTime`. */
  settledNow(): number;
  /** Takes over what other nodes have stored up to now; whether there was anything. */
  refresh(): Promise<boolean>;
  /** Finishes what is queued, then releases the database. May be called again. */
  close(): Promise<void>;
}
