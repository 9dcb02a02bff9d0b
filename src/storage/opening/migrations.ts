/** The tables, as a list of steps. A released step is never changed; new steps are added at the end. */
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { createNodeTables } from "../cluster/node-tables.ts";
import { writePresenceAsSets } from "../cluster/presence-sets.ts";
import {
  claimManyAtOnce,
  createPresenceTables,
  decideAsTheRule,
  keepPlainNamesToAccounts,
  leaveMovedEntries,
} from "../cluster/presence-tables.ts";
import { createTicketSecrets } from "../cluster/ticket-secrets.ts";
import { Unfit } from "../database/database.ts";
import type { Database, Tables, Transaction } from "../database/database.ts";
import { toPack } from "./pack-stored.ts";
import { toSeal } from "./seal-stored.ts";

export interface Migration {
  readonly name: string;
  readonly up: (transaction: Transaction, types: ColumnTypes) => Promise<void>;
}

interface ColumnTypes {
  /** Text that sorts by its bytes, as JavaScript sorts ids. */
  readonly id: RawBuilder<unknown>;
  /** A revision as the only column of a primary key. */
  readonly revisionKey: RawBuilder<unknown>;
  /** Follows a table whose rows are stored in the order of the primary key, without a second tree for it. */
  readonly byKey: RawBuilder<unknown>;
  /** Whether several nodes may share the database. */
  readonly isSharable: boolean;
}

const columnTypes: Record<Database["dialect"], ColumnTypes> = {
  sqlite: { id: sql`text`, revisionKey: sql`integer`, byKey: sql`without rowid`, isSharable: false },
  postgres: { id: sql`text collate "C"`, revisionKey: sql`bigint`, byKey: sql``, isSharable: true },
};

export const migrations: readonly Migration[] = [
  { name: "0001-objects", up: createTables },
  { name: "0002-cursors", up: createCursors },
  { name: "0003-anchor", up: createAnchor },
  { name: "0004-sealed-values", up: leaveToSeal },
  { name: "0005-nodes", up: prepareForNodes },
  { name: "0006-presence", up: prepareForPresence },
  { name: "0007-plain-names", up: prepareForPlainNames },
  { name: "0008-moved-entries", up: prepareForMovedEntries },
  { name: "0009-many-claims", up: prepareForManyClaims },
  { name: "0010-packed", up: leaveToPack },
  { name: "0011-name-rule", up: prepareForNameRule },
  { name: "0012-known-time", up: createKnownTime },
  { name: "0013-presence-as-sets", up: prepareForStorms },
  { name: "0014-ticket-secrets", up: prepareForTickets },
];

/** The fields recorded with a step. */
export interface MigrationRecord {
  /** Time of the start. */
  readonly at: string;
  /** The running version of Postern; an empty text if unknown. */
  readonly version?: string;
  /** Path of the backup from before the steps; undefined if there is none. */
  readonly backup?: string | undefined;
}

/**
 * Returns the names of the steps that `migrateTables` would take: all steps for a database without tables. Changes nothing.
 * @throws Unfit if a newer version wrote the database
 */
export async function findPendingSteps(
  database: Database,
  steps: readonly Migration[],
  version = "",
): Promise<readonly string[]> {
  const isEmpty = !(await hasTable(database));
  const done = isEmpty ? new Set<string>() : await readDoneSteps(database, steps, version);
  return steps.flatMap(({ name }) => (done.has(name) ? [] : [name]));
}

async function hasTable({ dialect, reads }: Pick<Database, "dialect" | "reads">): Promise<boolean> {
  const query =
    dialect === "sqlite"
      ? sql`select 1 from sqlite_master where name = 'migrations'`
      : sql`select 1 where to_regclass('migrations') is not null`;
  return (await query.execute(reads)).rows.length > 0;
}

async function readDoneSteps(
  database: Database,
  steps: readonly Migration[],
  version: string,
): Promise<ReadonlySet<string>> {
  const done = await database.reads.selectFrom("migrations").selectAll().orderBy("name").execute();
  const unknown = done.filter(({ name }) => !steps.some((step) => step.name === name));
  if (unknown.length > 0) throw makeNewerVersion(unknown, version);
  return new Set(done.map(({ name }) => name));
}

/** @param unknown the steps that this version lacks, in their order */
function makeNewerVersion(unknown: readonly Tables["migrations"][], version: string): Unfit {
  const newest = unknown.at(-1);
  const named = newest?.version ? `version ${newest.version}, ` : "";
  const backup = unknown.find((step) => step.backup)?.backup;
  const restored = backup ? `"${backup}", the backup from before the migration` : "a backup from before";
  return new Unfit(
    `open database: it was written by a newer version of Postern (${named}step "${newest?.name}"), and this is ` +
      `${version === "" ? "an older version" : `version ${version}`}. Start ` +
      `${newest?.version ? `version ${newest.version}` : "the newer version"}, or restore ${restored}`,
  );
}

/**
 * Migrates the tables to the current version, each step in a separate transaction.
 * @throws Unfit if a newer version wrote the database: a downgrade is impossible
 */
export async function migrateTables(
  database: Database,
  steps: readonly Migration[],
  { at, version = "", backup }: MigrationRecord,
): Promise<void> {
  await database.transact(async (transaction) => {
    await transaction.schema
      .createTable("migrations")
      .ifNotExists()
      .addColumn("name", "text", (column) => column.primaryKey())
      .addColumn("at", "text", (column) => column.notNull())
      .execute();
  });
  const done = await readDoneSteps(database, steps, version);
  const due = steps.filter(({ name }) => !done.has(name));
  if (due.length > 0) await addRecordColumns(database);
  for (const { name, up } of due) {
    try {
      await database.transact(async (transaction) => {
        await up(transaction, columnTypes[database.dialect]);
        await transaction
          .insertInto("migrations")
          .values({ name, at, version, backup: backup ?? null })
          .execute();
      });
    } catch (error) {
      throw new Error(`migrate database: step "${name}" failed and was rolled back`, { cause: error });
    }
  }
}

/** The first versions recorded no version and no backup. Earlier versions ignore these columns. */
async function addRecordColumns({ dialect, transact }: Database): Promise<void> {
  await transact(async (transaction) => {
    const columns = {
      sqlite: sql<{ name: string }>`select name from pragma_table_info('migrations')`,
      postgres: sql<{ name: string }>`
        select attname as name from pg_attribute where attrelid = 'migrations'::regclass and attnum > 0`,
    }[dialect];
    const presentColumns = (await columns.execute(transaction)).rows.map(({ name }) => name);
    for (const column of ["version", "backup"]) {
      if (presentColumns.includes(column)) continue;
      await transaction.schema.alterTable("migrations").addColumn(column, "text").execute();
    }
  });
}

async function createTables({ schema }: Transaction, { id, revisionKey, byKey }: ColumnTypes): Promise<void> {
  await schema
    .createTable("head")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .addColumn("holder", "text", (column) => column.notNull())
    .execute();
  await schema
    .createTable("data_keys")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("wrapped", "text", (column) => column.notNull())
    .addColumn("wrapped_by", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await schema
    .createTable("objects")
    .addColumn("id", id, (column) => column.primaryKey())
    .addColumn("account_id", id, (column) => column.notNull())
    .addColumn("kind", id, (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("doc", "text", (column) => column.notNull())
    .modifyEnd(byKey)
    .execute();
  await schema
    .createTable("revisions")
    .addColumn("revision", revisionKey, (column) => column.primaryKey())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("account_id", id, (column) => column.notNull())
    .addColumn("principal", "text", (column) => column.notNull())
    .addColumn("operation", "text", (column) => column.notNull())
    .addColumn("operation_id", "text", (column) => column.notNull())
    .addColumn("source", "text")
    .addColumn("reason", "text")
    .addColumn("hash", "text", (column) => column.notNull())
    .execute();
  await schema.createIndex("revisions_of_account").on("revisions").columns(["account_id", "revision"]).execute();
  await schema
    .createTable("history")
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("account_id", id, (column) => column.notNull())
    .addColumn("kind", id, (column) => column.notNull())
    .addColumn("id", id, (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("doc", "text")
    .addPrimaryKeyConstraint("history_key", ["revision", "position"])
    .modifyEnd(byKey)
    .execute();
  await schema
    .createIndex("history_of_object")
    .on("history")
    .columns(["account_id", "kind", "id", "revision"])
    .unique()
    .execute();
  await schema
    .createTable("idempotency")
    .addColumn("account_id", id, (column) => column.notNull())
    .addColumn("key", "text", (column) => column.notNull())
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("answer", "text", (column) => column.notNull())
    .addColumn("created_ms", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("idempotency_key", ["account_id", "key"])
    .execute();
  await schema.createIndex("idempotency_by_age").on("idempotency").columns(["created_ms"]).execute();
}

async function createCursors({ schema }: Transaction, { id, byKey }: ColumnTypes): Promise<void> {
  await schema
    .createTable("cursors")
    .addColumn("name", id, (column) => column.primaryKey())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .modifyEnd(byKey)
    .execute();
}

async function createAnchor({ schema }: Transaction): Promise<void> {
  await schema
    .createTable("anchor")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("sealed", "text", (column) => column.notNull())
    .execute();
}

async function createKnownTime({ schema }: Transaction): Promise<void> {
  await schema
    .createTable("known_time")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("at_ms", "bigint", (column) => column.notNull())
    .execute();
}

/** The part that needs the keys runs later, see `sealStored`. */
async function leaveToSeal(transaction: Transaction): Promise<void> {
  await transaction.schema
    .createTable("pending")
    .addColumn("name", "text", (column) => column.primaryKey())
    .execute();
  await transaction.insertInto("pending").values({ name: toSeal }).execute();
}

/** See `packStored`. */
async function leaveToPack(transaction: Transaction): Promise<void> {
  await transaction.insertInto("pending").values({ name: toPack }).execute();
}

/** Creates the tables with which several nodes follow each other. A lone server does not use them. */
async function prepareForNodes(
  transaction: Transaction,
  { id, revisionKey, byKey, isSharable }: ColumnTypes,
): Promise<void> {
  const { schema } = transaction;
  if (isSharable) await createNodeTables(transaction);
  for (const column of ["sequence", "sequence_kept"]) {
    await schema
      .alterTable("head")
      .addColumn(column, "bigint", (one) => one.notNull().defaultTo(0))
      .execute();
  }
  await schema
    .alterTable("head")
    .addColumn("batch", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await schema
    .createTable("batches")
    .addColumn("sequence", revisionKey, (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("at_ms", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("unrecorded")
    .addColumn("sequence", "bigint", (column) => column.notNull())
    .addColumn("write", "integer", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("after_revision", "bigint", (column) => column.notNull())
    .addColumn("writer_id", id, (column) => column.notNull())
    .addColumn("account_id", id, (column) => column.notNull())
    .addColumn("kind", id, (column) => column.notNull())
    .addColumn("id", id, (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("doc", "text")
    .addPrimaryKeyConstraint("unrecorded_key", ["sequence", "write", "position"])
    .modifyEnd(byKey)
    .execute();
}

async function prepareForPresence(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await createPresenceTables(transaction);
}

async function prepareForPlainNames(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await keepPlainNamesToAccounts(transaction);
}

async function prepareForMovedEntries(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await leaveMovedEntries(transaction);
}

async function prepareForManyClaims(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await claimManyAtOnce(transaction);
}

async function prepareForNameRule(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await decideAsTheRule(transaction);
}

async function prepareForStorms(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await writePresenceAsSets(transaction);
}

async function prepareForTickets(transaction: Transaction, { isSharable }: ColumnTypes): Promise<void> {
  if (isSharable) await createTicketSecrets(transaction);
}
