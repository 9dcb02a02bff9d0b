/** Copies tables between databases row by row, and compares the rows of two tables. */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import { carryOut } from "./database.ts";
import type { Tables, Transaction } from "./database.ts";
import { insertInto } from "./insert.ts";
import type { Dialect } from "./insert.ts";

type TableName = keyof Tables;
type CopiedRow = Readonly<Record<string, unknown>>;

/**
 * Columns that identify a row, by table. Tables not in this list are not moved. `migrations` describes the tables, so
 * it is compared instead. The tables for several nodes are not in `Tables`, because their rows end with the nodes'
 * leases.
 */
export const movedTables: Readonly<Record<Exclude<TableName, "migrations">, readonly string[]>> = {
  data_keys: ["id"],
  objects: ["id"],
  revisions: ["revision"],
  history: ["revision", "position"],
  idempotency: ["account_id", "key"],
  cursors: ["name"],
  anchor: ["id"],
  known_time: ["id"],
  batches: ["sequence"],
  unrecorded: ["sequence", "write", "position"],
  pending: ["name"],
  head: ["id"],
};

export type MovedTable = keyof typeof movedTables;

/** Rows in memory at a time. */
const step = 1000;
/** Digests are added up modulo this number, because databases may order rows differently. */
const modulus = 2n ** 256n;

/** Number of rows, and the sum of their digests, hexadecimal. */
export interface TableDigest {
  readonly rows: number;
  readonly digest: string;
}

/** Returns the moved tables that exist. */
export async function tablesIn(
  dialect: Dialect,
  reads: Kysely<Tables>,
  names: readonly string[],
): Promise<readonly string[]> {
  const there = {
    sqlite: sql<{ name: string }>`select name from sqlite_master where name in (${sql.join(names)})`,
    postgres: sql<{ name: string }>`
      select name from unnest(array[${sql.join(names)}]) as name where to_regclass(name) is not null`,
  }[dialect];
  return (await there.execute(reads)).rows.map(({ name }) => name);
}

/** Copies the rows into an empty table, and reports the number of rows so far. */
export async function copyTable(
  table: MovedTable,
  source: Kysely<Tables>,
  target: { readonly dialect: Dialect; readonly transaction: Transaction },
  copied: (rows: number) => void,
): Promise<TableDigest> {
  const digest = new RowDigest();
  let insert: ReturnType<typeof insertInto<MovedTable>> | undefined;
  for await (const rows of readTable(table, source)) {
    const [first] = rows;
    if (!first) break;
    insert ??= insertInto(table, Object.keys(first) as never[]);
    await carryOut(target.transaction, [...insert(target.dialect, rows as never[])]);
    digest.add(rows);
    copied(digest.rows);
  }
  return digest.result();
}

export async function digestOf(table: MovedTable, reads: Kysely<Tables>): Promise<TableDigest> {
  const digest = new RowDigest();
  for await (const rows of readTable(table, reads)) digest.add(rows);
  return digest.result();
}

/** Yields every row in pages of several hundred, in the database's order of the key. The last page may be empty. */
async function* readTable(table: MovedTable, reads: Kysely<Tables>): AsyncGenerator<readonly CopiedRow[]> {
  const keys = movedTables[table];
  const columns = sql.join(keys.map((key) => sql.ref(key)));
  let last: CopiedRow | undefined;
  for (;;) {
    const from = last;
    const behind = from ? sql`where (${columns}) > (${sql.join(keys.map((key) => from[key]))})` : sql``;
    const { rows } = await sql<CopiedRow>`
      select * from ${sql.table(table)} ${behind} order by ${columns} limit ${sql.lit(step)}`.execute(reads);
    yield rows;
    if (rows.length < step) return;
    last = rows.at(-1);
  }
}

class RowDigest {
  rows = 0;
  #sum = 0n;

  add(rows: readonly CopiedRow[]): void {
    this.rows += rows.length;
    for (const row of rows) {
      const named = Object.keys(row)
        .sort()
        .map((name) => [name, row[name]]);
      this.#sum += BigInt(`0x${createHash("sha256").update(JSON.stringify(named)).digest("hex")}`);
    }
    this.#sum %= modulus;
  }

  result(): TableDigest {
    return { rows: this.rows, digest: this.#sum.toString(16).padStart(64, "0") };
  }
}
