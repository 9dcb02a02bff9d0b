import { sql } from "kysely";
import type { Log } from "../../lib/log.ts";
import { keyIdOf, newDataKey, unwrapDataKey, wrapDataKey } from "./sealing.ts";
import type { DataKey } from "./sealing.ts";
import type { Database, Tables } from "../database/database.ts";

/** The operator's keys do not match the database. */
export class OtherKey extends Error {
  /** Identifies the condition where only plain data is transferred, such as between threads. */
  readonly code = "DATABASE_SEALED";
}

/**
 * Returns the data keys of the database, oldest first, each opened with the operator's key that fits. A data key
 * wrapped under an older operator's key is wrapped again under the first one, so that the older one can be removed.
 * @throws OtherKey if the operator's key for a data key is missing
 */
export async function dataKeys(
  database: Database,
  operatorKeys: readonly Buffer[],
  at: string,
  log: Log,
): Promise<readonly DataKey[]> {
  const first = operatorKeys[0];
  if (!first) throw new Error("open database: no sealing key was given");
  const rows = await rowsOf(database.reads);
  if (rows.length === 0) {
    const key = newDataKey();
    const wrapped = wrapDataKey(key, first);
    await database.transact((transaction) =>
      transaction
        .insertInto("data_keys")
        .values({ id: key.id, wrapped, wrapped_by: keyIdOf(first), created_at: at })
        .execute(),
    );
    return [key];
  }
  const keys = unwrapAll(rows, operatorKeys);
  try {
    await wrapAgain(database, rows, keys, first);
  } catch (error) {
    log.error("the data keys could not be sealed under the new key: keep the older key until a start succeeds", {
      error,
    });
  }
  return keys;
}

/**
 * Same as `dataKeys`, for a database that has data keys and must not be changed.
 * @throws OtherKey as there
 */
export async function openKeys(reads: Database["reads"], operatorKeys: readonly Buffer[]): Promise<readonly DataKey[]> {
  return unwrapAll(await rowsOf(reads), operatorKeys);
}

async function rowsOf(reads: Database["reads"]): Promise<readonly Tables["data_keys"][]> {
  return await reads.selectFrom("data_keys").selectAll().orderBy("created_at").orderBy("id").execute();
}

/**
 * Checks that a database of any version can be opened with these keys, before any change to it.
 * @throws OtherKey if it cannot
 */
export async function checkKeys({ dialect, reads }: Database, operatorKeys: readonly Buffer[]): Promise<void> {
  const query =
    dialect === "sqlite"
      ? sql`select 1 from sqlite_master where name = 'data_keys'`
      : sql`select 1 where to_regclass('data_keys') is not null`;
  if ((await query.execute(reads)).rows.length === 0) return;
  unwrapAll(await reads.selectFrom("data_keys").selectAll().execute(), operatorKeys);
}

function unwrapAll(rows: readonly Tables["data_keys"][], operatorKeys: readonly Buffer[]): DataKey[] {
  const byId = new Map(operatorKeys.map((key) => [keyIdOf(key), key]));
  return rows.map(({ id, wrapped, wrapped_by }) => {
    const under = byId.get(wrapped_by);
    if (under) return unwrapDataKey(id, wrapped, under);
    const [first] = operatorKeys;
    throw new OtherKey(
      `open database: its secrets are sealed under the key "${wrapped_by}", ` +
        (first ? `but the sealing key is "${keyIdOf(first)}": ` : "but there is no sealing key: ") +
        'restore the file "sealing-key" of this database to the data directory, from the same place as its backup, ' +
        "with mode 0600, or set its content as POSTERN_SEALING_KEY",
    );
  });
}

async function wrapAgain(
  database: Database,
  rows: readonly Tables["data_keys"][],
  keys: readonly DataKey[],
  first: Buffer,
): Promise<void> {
  const wrapped_by = keyIdOf(first);
  const older = keys.filter((_, index) => rows[index]?.wrapped_by !== wrapped_by);
  if (older.length === 0) return;
  await database.transact(async (transaction) => {
    for (const key of older) {
      const wrapped = wrapDataKey(key, first);
      await transaction.updateTable("data_keys").set({ wrapped, wrapped_by }).where("id", "=", key.id).execute();
    }
  });
}
