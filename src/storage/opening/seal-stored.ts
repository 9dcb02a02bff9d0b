/**
 * Seals values that older versions stored in plain text, for fields that are now sealed (K4), in the present rows and
 * in the history. The hash chain does not change, see `Documents.sealLater`: operators can still compare hashes they
 * noted.
 */
import { sql } from "kysely";
import type { Log } from "../../lib/log.ts";
import type { Database, Transaction } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { historyRows } from "../history/history-rows.ts";

/** Rows in memory at a time. */
const step = 500;

/** Work that a migration leaves until the keys are available. */
export const toSeal = "seal stored values";
/** Work that sealing leaves: the files still contain the replaced values. */
const toCompact = "compact after sealing";

/** @param kinds all stored kinds */
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
  await compactFiles(database, log);
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

/**
 * Files still contain replaced rows until their space is reused. If compaction fails, the next start tries it again.
 */
async function compactFiles(database: Database, log: Log): Promise<void> {
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
