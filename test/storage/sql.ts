/** Runs statements on a database without its current user. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";

export type SqlRow = Readonly<Record<string, unknown>>;

/** Returns the rows of the last statement. */
export async function execute(name: string, url: string, ...statements: readonly string[]): Promise<readonly SqlRow[]> {
  let rows: readonly SqlRow[] = [];
  if (name === "sqlite") {
    const database = new DatabaseSync(url, { timeout: 5000 });
    for (const sql of statements) rows = database.prepare(sql).all();
    database.close();
    return rows;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const sql of statements) ({ rows } = await client.query<Record<string, unknown>>(sql));
  await client.end();
  return rows;
}

/** Copies tables; the result restores them. */
export async function snapshot(
  name: string,
  url: string,
  tables: readonly string[],
): Promise<() => Promise<readonly SqlRow[]>> {
  await execute(name, url, ...tables.map((table) => `create table kept_${table} as select * from ${table}`));
  return () =>
    execute(
      name,
      url,
      ...tables.flatMap((table) => [
        `delete from ${table}`,
        `insert into ${table} select * from kept_${table}`,
        `drop table kept_${table}`,
      ]),
    );
}

/** Returns the whole contents of the database: the bytes of its files, or all rows of all tables. */
export async function dump(name: string, url: string): Promise<string> {
  if (name === "sqlite") {
    const directory = dirname(url);
    const files = readdirSync(directory);
    return files.map((file) => readFileSync(join(directory, file), "latin1")).join("\n");
  }
  const tables = await execute(name, url, "select tablename from pg_tables where schemaname = 'public'");
  const texts = [];
  for (const { tablename } of tables) {
    const rows = await execute(name, url, `select json_agg(t)::text as rows from ${String(tablename)} t`);
    texts.push(JSON.stringify(rows));
  }
  return texts.join("\n");
}
