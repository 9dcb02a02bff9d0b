/**
 * The backup that a start makes before it migrates a database: an SQLite file in the previous format. An older version
 * opens it, and its `postern migrate` moves it to PostgreSQL.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Log } from "../../lib/log.ts";
import { Unfit } from "../database/database.ts";
import type { Database, Tables } from "../database/database.ts";
import { copyTable, movedTables, tablesIn } from "../database/table-copy.ts";
import type { MovedTable } from "../database/table-copy.ts";
import { openSqlite } from "../sqlite/sqlite.ts";
import { migrateTables } from "./migrations.ts";
import type { Migration } from "./migrations.ts";

export interface BackupPlan {
  /** Path of the SQLite database. For PostgreSQL, the path that it would have in the data directory. */
  readonly file: string;
  readonly steps: readonly Migration[];
  /** Names of the pending steps. */
  readonly pending: readonly string[];
  readonly log: Log;
}

/** Returns the path of the backup for these steps. A start that fails and is repeated replaces only its own backup. */
export function backupPath(file: string, pending: readonly string[]): string {
  return `${file}.before-${pending[0]}`;
}

/**
 * Copies the whole database, and resolves when the copy is on disk.
 * @returns the path of the copy
 * @throws Unfit if the copy cannot be written
 */
export async function backUp(database: Database, plan: BackupPlan): Promise<string> {
  const path = backupPath(plan.file, plan.pending);
  const draft = `${path}.new`;
  plan.log.info("taking a backup before the database is migrated", { backup: path, steps: plan.pending });
  try {
    removeDatabase(draft);
    // SQLite and the copy write into a file that only its owner can read, because it contains all data of the database.
    closeSync(openSync(draft, "wx", 0o600));
    if (database.dialect === "sqlite") await sql`vacuum into ${draft}`.execute(database.reads);
    else await copyToFile(database, draft, plan);
    flushFile(draft);
    renameSync(draft, path);
    flushFile(dirname(path));
  } catch (error) {
    throw new Unfit(
      `back up the database to "${path}" before migrating it: ${(error as Error).message}. Make room or make the ` +
        "directory writable, or take a backup yourself and start with --no-migration-backup",
      { cause: error },
    );
  } finally {
    removeDatabase(draft);
  }
  plan.log.info("took a backup before the database is migrated", { backup: path });
  return path;
}

/** Copies the data of one point in time. */
async function copyToFile({ reads }: Database, draft: string, { steps, pending, log }: BackupPlan): Promise<void> {
  const file = await openSqlite(draft, log);
  try {
    await reads
      .transaction()
      .setIsolationLevel("repeatable read")
      .execute((snapshot) =>
        file.transact(async (transaction) => {
          const inFile: Database = { ...file, reads: transaction, transact: (work) => work(transaction) };
          await migrateTables(
            inFile,
            steps.filter(({ name }) => !pending.includes(name)),
            { at: "" },
          );
          await transaction.deleteFrom("pending").execute();
          await copyRecords(snapshot, transaction);
          const names = await tablesIn("postgres", snapshot, Object.keys(movedTables));
          for (const name of names as readonly MovedTable[]) {
            await copyTable(name, snapshot, { dialect: "sqlite", transaction }, () => undefined);
          }
        }),
      );
    await sql`pragma wal_checkpoint(truncate)`.execute(file.reads);
  } finally {
    await file.close();
  }
}

/** Copies the records of migration steps, with their times and versions. */
async function copyRecords(from: Kysely<Tables>, to: Kysely<Tables>): Promise<void> {
  for (const { name, ...record } of await from.selectFrom("migrations").selectAll().execute()) {
    await to.updateTable("migrations").set(record).where("name", "=", name).execute();
  }
}

function flushFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a database file with the files that SQLite and `openSqlite` create beside it. */
function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm", "-journal", ".lock"]) rmSync(`${file}${end}`, { force: true });
}
