/**
 * Moves all data of one database into another one of either kind: objects, revisions and their history, the anchor,
 * sealed secrets unchanged, logins, cursors of events, Idempotency-Keys. The target has all of it or nothing.
 */
import { existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import { formatTimestamp } from "../../lib/clock.ts";
import { CommitInDoubt, Unfit } from "../database/database.ts";
import type { Database, Tables, Transaction } from "../database/database.ts";
import { documentsOf } from "../rows/documents.ts";
import { kindsOf } from "../rows/kinds.ts";
import { readEachRow } from "../state/load.ts";
import { migrateTables, migrations } from "../opening/migrations.ts";
import { readHead } from "../commits/missed.ts";
import { openDatabase } from "../opening/open-store.ts";
import { isUrl } from "../database-place.ts";
import type { StoreOptions } from "../opening/open-store.ts";
import { openKeys } from "../sealing/data-keys.ts";
import { sealerWith } from "../sealing/sealing.ts";
import { verifyHistory } from "../history/verify-history.ts";
import { copyTable, digestOf, movedTables, tablesIn } from "../database/table-copy.ts";
import type { MovedTable, TableDigest } from "../database/table-copy.ts";

export interface MoveOptions extends Pick<StoreOptions, "dataDirectory" | "declarations" | "clock" | "log"> {
  /** Same as `StoreOptions.database`. */
  readonly from: string;
  readonly to: string;
  /** The operator's keys, under which the source and then the target are sealed. */
  readonly sealingKeys: readonly Buffer[];
  /** Called while rows of a table are copied. */
  readonly progress: (table: MovedTable, rows: number, of: number) => void;
}

export interface Moved {
  /** Revision of the last write. */
  readonly revision: number;
  /** Revision at which the history was altered, already in the source. */
  readonly brokenAt?: number;
  readonly tables: Readonly<Record<MovedTable, TableDigest>>;
}

/**
 * Resolves when the target has everything on disk, and every row was verified there. No other process may use either
 * database meanwhile.
 * @throws Superseded if another process uses one; Unfit if the source is not a database of this version, or the target
 * is not empty; OtherKey; CommitInDoubt if the connection broke at the very end; other errors. The source never
 * changes. The target changes only with `CommitInDoubt`.
 */
export async function moveDatabase(options: MoveOptions): Promise<Moved> {
  const { from, to, dataDirectory } = options;
  const fileOf = (place: string): string => (isUrl(place) ? place : resolve(dataDirectory, place));
  if (fileOf(from) === fileOf(to)) throw new Unfit("move database: source and target are the same");
  if (!isUrl(from) && !existsSync(fileOf(from))) throw new Unfit(`move database: there is no file "${fileOf(from)}"`);
  const isNewFile = !isUrl(to) && !existsSync(fileOf(to));
  const { database: source } = await openDatabase({ ...options, database: from });
  try {
    const { database: target } = await openDatabase({ ...options, database: to });
    let moved: Moved | undefined;
    try {
      moved = await moveBetween(source, target, options);
    } finally {
      await target.close();
      if (!moved && isNewFile) removeFile(fileOf(to));
    }
    return moved;
  } finally {
    await source.close();
  }
}

/** Removes an empty SQLite file, with the files that SQLite and `openSqlite` create beside it. */
function removeFile(file: string): void {
  for (const end of ["", "-wal", "-shm", ".lock"]) rmSync(`${file}${end}`, { force: true });
}

async function moveBetween(source: Database, target: Database, options: MoveOptions): Promise<Moved> {
  // The lock lasts only as long as its connection. All reads are of one point in time in any case.
  return await source.reads
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (snapshot) => {
      await checkVersion(source.dialect, snapshot);
      return await target.transact(async (transaction) => {
        await checkEmpty(target.dialect, transaction);
        const inTransaction: Database = { ...target, reads: transaction, transact: (work) => work(transaction) };
        await migrateTables(inTransaction, migrations, { at: formatTimestamp(options.clock.now()) });
        await transaction.deleteFrom("pending").execute();
        const tables = await copyAll(snapshot, { dialect: target.dialect, transaction }, options.progress);
        return { tables, ...(await checkMoved(transaction, options)) };
      });
    })
    .catch((error: unknown) => {
      if (!(error instanceof CommitInDoubt)) throw error;
      throw new CommitInDoubt(
        "move database: the connection broke at the very end: if the target is not empty now, it has all data",
        { cause: error },
      );
    });
}

async function copyAll(
  source: Kysely<Tables>,
  target: { readonly dialect: Database["dialect"]; readonly transaction: Transaction },
  progress: MoveOptions["progress"],
): Promise<Moved["tables"]> {
  const copied: Partial<Record<MovedTable, TableDigest>> = {};
  for (const table of Object.keys(movedTables) as MovedTable[]) {
    const { rows: counted } = await sql<{ count: unknown }>`select count(*) as count from ${sql.table(table)}`.execute(
      source,
    );
    const of = Number(counted[0]?.count);
    copied[table] = await copyTable(table, source, target, (rows) => progress(table, rows, of));
    const { rows, digest } = await digestOf(table, target.transaction);
    if (rows === copied[table].rows && digest === copied[table].digest) continue;
    throw new Error(`move database: the target does not store the rows of "${table}" unchanged`);
  }
  return copied as Moved["tables"];
}

/** Checks that every object opens with the keys, and checks the hash chain of the history (P6). */
async function checkMoved(
  target: Transaction,
  { sealingKeys, declarations }: MoveOptions,
): Promise<Omit<Moved, "tables">> {
  const kinds = kindsOf(declarations);
  const sealer = sealerWith(await openKeys(target, sealingKeys));
  const documents = documentsOf(kinds, sealer);
  await readEachRow(target, kinds, (row) => void documents.read(row));
  const { revision } = await readHead(target);
  const { brokenAt } = await verifyHistory(target, sealer, documents);
  return { revision, ...(brokenAt !== undefined && { brokenAt }) };
}

async function checkVersion(dialect: Database["dialect"], source: Kysely<Tables>): Promise<void> {
  const [isThere] = await tablesIn(dialect, source, ["migrations"]);
  if (isThere === undefined) throw new Unfit("move database: the source is not a Postern database");
  const done = new Set((await source.selectFrom("migrations").select("name").execute()).map(({ name }) => name));
  const newer = [...done].filter((name) => !migrations.some((one) => one.name === name)).sort();
  if (newer.length > 0) {
    throw new Unfit(
      `move database: the source was written by a newer version of Postern (unknown step "${newer.at(-1)}"): use that version`,
    );
  }
  const lacking = migrations.find(({ name }) => !done.has(name));
  if (!lacking) return;
  throw new Unfit(
    `move database: the source was last used by an older version of Postern (missing step "${lacking.name}"): start this version on it once, and stop it again`,
  );
}

async function checkEmpty(dialect: Database["dialect"], target: Kysely<Tables>): Promise<void> {
  const [found] = await tablesIn(dialect, target, [...Object.keys(movedTables), "migrations"]);
  if (found === undefined) return;
  throw new Unfit(`move database: the target is not empty (it has a table "${found}"): use an empty one`);
}
