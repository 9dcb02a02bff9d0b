import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, SqliteDialect } from "kysely";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import type { Log } from "../../lib/log.ts";
import { Superseded, transactOn } from "../database/database.ts";
import type { Database, Tables } from "../database/database.ts";
import { openSqliteFile } from "./sqlite-file.ts";
import { walDamage } from "./wal.ts";

/**
 * Opens or creates the file. Every commit is on disk before it is acknowledged (S1). On a full disk, the file's data is
 * readable, and commits fail until there is room (S3).
 * @throws Superseded if another process has it open
 */
export async function openSqlite(file: string, log: Log): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "a", 0o600));
  const lock = lockFile(`${file}.lock`);
  try {
    const damage = walDamage(`${file}-wal`);
    if (damage) log.warn("the end of the database's log is damaged: writes in it are discarded", { file, ...damage });
    const opened = openSqliteFile(file, log);
    const kyselyOn = (use: "writes" | "reads"): Kysely<Tables> =>
      new Kysely<Tables>({
        dialect: new SqliteDialect({ database: adaptToKysely((sql) => opened.prepare(use, sql)) }),
      });
    const writes = kyselyOn("writes");
    return {
      dialect: "sqlite",
      reads: kyselyOn("reads"),
      transact: (work) => transactOn(writes, work),
      store: (steps) => opened.store(steps),
      async close() {
        await opened.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/**
 * An open transaction in a separate file holds the lock. It ends with the process, and backups can still read the
 * database.
 */
function lockFile(file: string): DatabaseSync {
  closeSync(openSync(file, "a", 0o600));
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    throw new Superseded(`open database: another process has it open (it holds "${file}"); stop it first`, {
      cause: error,
    });
  }
  return lock;
}

/** Adapts node:sqlite to Kysely's dialect. */
function adaptToKysely(prepare: (sql: string) => ReturnType<DatabaseSync["prepare"]>): SqliteDatabase {
  return {
    close: () => undefined,
    prepare(sql): SqliteStatement {
      const prepared = prepare(sql);
      const columns = prepared.columns().map(({ name }) => name);
      prepared.setReturnArrays(true);
      return {
        reader: columns.length > 0,
        all: (parameters) => rowsOf(columns, prepared.all(...(parameters as string[])) as unknown as unknown[][]),
        run: (parameters) => prepared.run(...(parameters as string[])),
        *iterate(parameters) {
          for (const row of prepared.iterate(...(parameters as string[]))) {
            yield* rowsOf(columns, [row as unknown as unknown[]]);
          }
        },
      };
    },
  };
}

/** Builds rows from arrays: objects take longer to create in node:sqlite, and longer to read. */
function rowsOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): Record<string, unknown>[] {
  return rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at += 1) row[columns[at] as string] = values[at];
    return row;
  });
}
