/** The database as storage uses it: both kinds have the same tables and queries. */
import { CompiledQuery } from "kysely";
import type { ControlledTransaction, Kysely } from "kysely";

export interface Tables {
  head: {
    id: number;
    revision: number;
    hash: string;
    holder: string;
    /** Number of batches while several nodes write. */
    sequence: number;
    /** Rows of `unrecorded` and `batches` older than this batch are deleted. */
    sequence_kept: number;
    /** Name of the last batch, see `batches`. */
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
    /** Null if the revision deleted the object. */
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
  /** Position of each reader of the history. */
  cursors: { name: string; revision: number; position: number };
  /** Beginning of the history after pruning; one row. */
  anchor: { id: number; sealed: string };
  /** Last time that certainly did not come from a wrong clock, milliseconds since 1970; one row. See `KnownTime`. */
  known_time: { id: number; at_ms: number };
  /** Batches of the last minutes while several nodes write. A batch in this table was stored. */
  batches: { sequence: number; name: string; at_ms: number };
  /** Changes of writes without a revision, which other nodes cannot read from the history. */
  unrecorded: {
    sequence: number;
    /** Index of the write in the batch, and of its change. */
    write: number;
    position: number;
    /** Last revision before the write. */
    after_revision: number;
    /** Author of the write. */
    writer_id: string;
    account_id: string;
    kind: string;
    id: string;
    revision: number;
    created_at: string;
    doc: string | null;
  };
  /** Work that a migration leaves for the next start. */
  pending: { name: string };
  migrations: {
    name: string;
    at: string;
    /** Version of Postern that took the step. Absent in databases of the first versions. */
    version?: string | null | undefined;
    /** Backup from before the step. */
    backup?: string | null | undefined;
  };
}

export type Transaction = ControlledTransaction<Tables>;

/** A prepared statement of a transaction. */
export interface DatabaseStep {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** Required number of changed rows; absent: any number. */
  readonly changes?: number;
}

export interface Database {
  readonly dialect: "sqlite" | "postgres";
  /** For reads. Sees committed data, and does not wait for writes. */
  readonly reads: Kysely<Tables>;
  /**
   * Runs `work` in a transaction and resolves when it is on disk. Reconnects first if necessary.
   * @throws CommitInDoubt if the outcome is unknown; after any other error nothing was stored
   */
  transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * Executes the steps in one transaction and resolves when it is on disk.
   * @throws Superseded if a step did not change the required number of rows; other errors as `transact`
   */
  store(steps: readonly DatabaseStep[]): Promise<void>;
  /** Defined if other nodes may also write to the database. */
  readonly shared?: SharedDatabase;
  /** Statements that take long, such as migrations, come before: from now on callers wait for each. */
  beginServing?(): void;
  /**
   * Longest time for which callers wait for a batch, milliseconds. Then they get an answer, and the outcome is unknown.
   * Undefined: no limit besides those of statements.
   */
  readonly patienceMs?: number | undefined;
  /** Releases the database for other processes. */
  close(): Promise<void>;
}

/** PostgreSQL channel on which nodes announce new batches. */
export const channel = "postern";

/** A connection for short queries and notifications from other nodes. It reconnects whenever it breaks. */
export interface SharedDatabase {
  /** Address of this machine on its connection to the database; undefined if that is a Unix socket. */
  readonly localAddress: string | undefined;
  /** Rejects if there is no connection at the moment. */
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
  /** Calls `heard` with each notification, and with undefined if some may have been lost. */
  listen(heard: (notice: string | undefined) => void): void;
  /** Runs `work` while no other node runs the same work. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** The connection broke between COMMIT and its response. */
export class CommitInDoubt extends Error {}

/** Another process holds the database, or has taken it over. Only a restart helps. */
export class Superseded extends Error {
  /** Identifies the condition where only plain data is transferred, such as between threads. */
  readonly code = "DATABASE_HELD";
}

/** No connection could be made. */
export class Unconnected extends Error {}

/** The configured database cannot be used. */
export class Unfit extends Error {
  /** Identifies the condition where only plain data is transferred, such as between threads. */
  readonly code = "DATABASE_UNFIT";
}

/** Implements `Database.transact` on the one connection of `writes`. */
export async function transactOn<T>(
  writes: Kysely<Tables>,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const begin = (): Promise<Transaction> => writes.startTransaction().execute();
  // An idle connection that broke may fail only now. Nothing was executed yet, so one retry is safe.
  const transaction = await begin().catch((error: unknown) => {
    if (error instanceof Unconnected) throw error;
    return begin();
  });
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

/** Implements `Database.store` with `transact`. */
export async function storeBy(transact: Database["transact"], steps: readonly DatabaseStep[]): Promise<void> {
  await transact((transaction) => carryOut(transaction, steps));
}

/** @throws Superseded if a step did not change the required number of rows */
export async function carryOut(transaction: Transaction, steps: readonly DatabaseStep[]): Promise<void> {
  for (const { sql, parameters, changes } of steps) {
    const { numAffectedRows } = await transaction.executeQuery(CompiledQuery.raw(sql, [...parameters]));
    if (changes !== undefined && Number(numAffectedRows) !== changes) throw makeSuperseded();
  }
}

export function makeSuperseded(): Superseded {
  return new Superseded("store writes: another process has taken over the database; restart this server");
}

/** Ignores errors: the transaction is already over, or its connection is lost and the transaction with it. */
async function rollBack(transaction: Transaction): Promise<void> {
  await transaction
    .rollback()
    .execute()
    .catch(() => undefined);
}
