/** The database as storage uses it: the same tables and queries on both kinds. */
import { CompiledQuery } from "kysely";
import type { ControlledTransaction, Kysely } from "kysely";

export interface Tables {
  head: {
    id: number;
    revision: number;
    hash: string;
    holder: string;
    /** Counts batches while several nodes write. */
    sequence: number;
    /** Of `unrecorded` and `batches`, what is older than this batch is gone. */
    sequence_kept: number;
    /** Names the last batch, see `batches`. */
    batch: string;
  };
  data_keys: { id: string; wrapped: string; wrapped_by: string; created_at: string };
  objects: { id: string; account_id: string; kind: string; revision: number; created_at: string; doc: string };
  history: {
    revision: number;
    position: number;
    account_id: string;
    kind: string;
    id: string;
    created_at: string;
    /** Null when the revision deleted the object. */
    doc: string | null;
  };
  revisions: {
    revision: number;
    at: string;
    account_id: string;
    principal: string;
    operation: string;
    operation_id: string;
    source: string | null;
    reason: string | null;
    hash: string;
  };
  idempotency: {
    account_id: string;
    key: string;
    fingerprint: string;
    revision: number;
    answer: string;
    /** Milliseconds since 1970. */
    created_ms: number;
  };
  /** How far each reader of the history has come. */
  cursors: { name: string; revision: number; position: number };
  /** Where the history begins, once some of it was pruned; one row. */
  anchor: { id: number; sealed: string };
  /** The last time that is known not to come from a wrong clock, milliseconds since 1970; one row. See `KnownTime`. */
  known_time: { id: number; at_ms: number };
  /** Batches of the last minutes while several nodes write: that one is here says that it was stored. */
  batches: { sequence: number; name: string; at_ms: number };
  /** What other nodes cannot read from the history: changes of writes that are in no revision. */
  unrecorded: {
    sequence: number;
    /** Which write of the batch, and which of its changes. */
    write: number;
    position: number;
    /** The last revision before it. */
    after_revision: number;
    /** Whose write it was. */
    writer_id: string;
    account_id: string;
    kind: string;
    id: string;
    revision: number;
    created_at: string;
    doc: string | null;
  };
  /** What a migration has left to be done at the next start. */
  pending: { name: string };
  migrations: {
    name: string;
    at: string;
    /** The version of Postern that took the step; absent in databases of the first versions. */
    version?: string | null | undefined;
    /** The backup that was taken before the step. */
    backup?: string | null | undefined;
  };
}

export type Transaction = ControlledTransaction<Tables>;

/** A statement of a transaction that is known beforehand. */
export interface Step {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** How many rows it has to change; absent: any number. */
  readonly changes?: number;
}

export interface Database {
  readonly dialect: "sqlite" | "postgres";
  /** For reads: sees what is committed, and does not wait for writes. */
  readonly reads: Kysely<Tables>;
  /**
   * Runs `work` in a transaction and resolves when that is on disk. Reconnects first where that is needed.
   * @throws CommitInDoubt when the outcome is unknown; anything else: nothing was stored
   */
  transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * Carries out the steps in one transaction and resolves when that is on disk.
   * @throws Superseded when a step did not change as many rows as it had to; else as `transact`
   */
  store(steps: readonly Step[]): Promise<void>;
  /** There when other nodes may write to the database as well. */
  readonly shared?: Shared;
  /** Gives up the database for other processes. */
  close(): Promise<void>;
}

/** Where nodes tell one another in PostgreSQL that there is news. */
export const channel = "postern";

/** A connection for short questions and for what other nodes tell, made again whenever it breaks. */
export interface Shared {
  /** The address of this machine that the database is reached from; undefined where that is a socket of the machine. */
  readonly localAddress: string | undefined;
  /** Rejects when there is no connection at the moment. */
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
  /** Calls `heard` with each notice, and with undefined when some may have been missed. */
  listen(heard: (notice: string | undefined) => void): void;
  /** Runs `work` while no other node does the same. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** The connection broke between sending COMMIT and its answer. */
export class CommitInDoubt extends Error {}

/** Another process holds the database, or has held it since. Only a restart helps. */
export class Superseded extends Error {
  /** Names the condition where only plain data arrives, such as in another thread. */
  readonly code = "DATABASE_HELD";
}

/** What was given as the database cannot be one. */
export class Unfit extends Error {
  /** Names the condition where only plain data arrives, such as in another thread. */
  readonly code = "DATABASE_UNFIT";
}

/** `Database.transact` on the one connection of `writes`. */
export async function transactOn<T>(
  writes: Kysely<Tables>,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const begin = (): Promise<Transaction> => writes.startTransaction().execute();
  // A connection that broke while nobody used it may show that only now; nothing has happened yet.
  const transaction = await begin().catch(begin);
  let result: T;
  try {
    result = await work(transaction);
  } catch (error) {
    await rollBack(transaction);
    throw error;
  }
  try {
    await transaction.commit().execute();
  } catch (error) {
    await rollBack(transaction);
    throw new CommitInDoubt("commit", { cause: error });
  }
  return result;
}

/** `Database.store` by way of `transact`. */
export async function storeBy(transact: Database["transact"], steps: readonly Step[]): Promise<void> {
  await transact((transaction) => carryOut(transaction, steps));
}

/** @throws Superseded when a step did not change as many rows as it had to */
export async function carryOut(transaction: Transaction, steps: readonly Step[]): Promise<void> {
  for (const { sql, parameters, changes } of steps) {
    const { numAffectedRows } = await transaction.executeQuery(CompiledQuery.raw(sql, [...parameters]));
    if (changes !== undefined && Number(numAffectedRows) !== changes) throw superseded();
  }
}

export function superseded(): Superseded {
  return new Superseded("store writes: another process has taken over the database; restart this server");
}

/** Its failure says nothing new: the transaction is over already, or the connection is and takes it along. */
async function rollBack(transaction: Transaction): Promise<void> {
  await transaction
    .rollback()
    .execute()
    .catch(() => undefined);
}
