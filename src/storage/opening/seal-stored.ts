/**
 * Seals what older versions have stored in the clear of fields that are sealed now (K4): in the present rows and in the
 * history. The hash chain stays what it was, see `Documents.sealLater`: whoever has noted a hash can still compare it.
 */
import { sql } from "kysely";
import type { Log } from "../../lib/log.ts";
import type { Database, Transaction } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { historyRows } from "../history/history-rows.ts";

/** Rows in memory at a time. */
const step = 500;

/** What a migration has left to be done once the keys are there. */
export const toSeal = "seal stored values";
/** What sealing has left to be done: the files still hold what was replaced. */
const toCompact = "compact after sealing";

/** @param kinds all that are stored */
export async function sealStored(
  database: Database,
  documents: Documents,
  kinds: Iterable<string>,
  log: Log,
): Promise<void> {
  const pending = await database.reads.selectFrom("pending").select("name").execute();
  const isPending = (wanted: string): boolean => pending.some(({ name }) => name === wanted);
  if (isPending(toSeal)) {
    const count = await database.transact(async (transaction) => {
      let sealed = 0;
      for (const kind of kinds) {
        if (!documents.seals(kind)) continue;
        sealed += (await sealObjects(transaction, documents, kind)) + (await sealHistory(transaction, documents, kind));
      }
      await transaction.deleteFrom("pending").where("name", "=", toSeal).execute();
      if (sealed > 0) await transaction.insertInto("pending").values({ name: toCompact }).execute();
      return sealed;
    });
    if (count === 0) return;
    log.info("values that were stored in clear text are now sealed", { rows: count });
  } else if (!isPending(toCompact)) return;
  await compact(database, log);
}

async function sealObjects(transaction: Transaction, documents: Documents, kind: string): Promise<number> {
  let count = 0;
  for (let last = ""; ;) {
    const rows = await transaction
      .selectFrom("objects")
      .selectAll()
      .where("id", ">", last)
      .where("kind", "=", kind)
      .orderBy("id")
      .limit(step)
      .execute();
    for (const row of rows) {
      const doc = documents.sealLater(row);
      if (doc === row.doc) continue;
      await transaction.updateTable("objects").set({ doc }).where("id", "=", row.id).execute();
      count += 1;
    }
    if (rows.length < step) return count;
    last = rows.at(-1)?.id as string;
  }
}

async function sealHistory(transaction: Transaction, documents: Documents, kind: string): Promise<number> {
  let count = 0;
  for await (const rows of historyRows(transaction, (all) => all.where("kind", "=", kind))) {
    for (const row of rows) {
      if (row.doc === null) continue;
      const doc = documents.sealLater({ ...row, doc: row.doc });
      if (doc === row.doc) continue;
      await transaction
        .updateTable("history")
        .set({ doc })
        .where("revision", "=", row.revision)
        .where("position", "=", row.position)
        .execute();
      count += 1;
    }
  }
  return count;
}

/** Replaced rows stay in the files until their place is used again. What fails here is tried again at the next start. */
async function compact(database: Database, log: Log): Promise<void> {
  const texts = {
    sqlite: ["vacuum", "pragma wal_checkpoint(truncate)"],
    postgres: ["vacuum full objects", "vacuum full history"],
  }[database.dialect];
  try {
    for (const text of texts) await sql.raw(text).execute(database.reads);
    await database.transact((transaction) => transaction.deleteFrom("pending").where("name", "=", toCompact).execute());
  } catch (error) {
    log.warn("sealed values may still be in the database's files in clear text: the files could not be compacted", {
      error,
    });
  }
}
