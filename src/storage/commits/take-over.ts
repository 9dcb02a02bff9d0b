/** The holder from which this process takes over the database, and the database's state. */
import { randomBytes } from "node:crypto";
import type { Log } from "../../lib/log.ts";
import { chainStart } from "../database/audit-chain.ts";
import { Superseded } from "../database/database.ts";
import type { Database, Transaction } from "../database/database.ts";
import type { Head } from "../rows/record.ts";

/** Holder in the head while several nodes write. */
export const nodesHolder = "nodes";

/**
 * From here on only this process writes: every commit checks that the head still names it. If the take-over cannot be
 * stored now, configuration and reads work without it. The first write that can be stored also stores it (S3).
 */
export async function takeOver(
  database: Database,
  holder: string,
  log: Log,
): Promise<{ readonly head: Head; readonly predecessor?: string }> {
  const found = await database.transact((transaction) => headIn(transaction, holder));
  const head = { ...found, holder };
  if (found.holder === holder) return { head };
  try {
    await database.transact((transaction) => transaction.updateTable("head").set({ holder }).execute());
    return { head };
  } catch (error) {
    if (error instanceof Superseded) throw error;
    log.error("the database accepts no writes: stored configuration is served, and writes are answered with 503", {
      error,
    });
    return { head, predecessor: found.holder };
  }
}

/**
 * From here on nodes write together. The writes of a lone process are in no batch, so a node that was cut off then
 * reads everything again.
 */
export async function takeOverForNodes(database: Database): Promise<void> {
  await database.transact(async (transaction) => {
    const { holder, sequence } = await headIn(transaction, "");
    if (holder === nodesHolder) return;
    const next = sequence + 1;
    const batch = randomBytes(12).toString("hex");
    await transaction
      .updateTable("head")
      .set({ holder: nodesHolder, sequence: next, sequence_kept: next, batch })
      .execute();
    await transaction.deleteFrom("unrecorded").execute();
    await transaction.deleteFrom("batches").execute();
    await transaction.insertInto("batches").values({ sequence: next, name: batch, at_ms: Date.now() }).execute();
  });
}

/** Returns the present head, and creates it if there is none. */
export async function headIn(transaction: Transaction, holder: string): Promise<Head> {
  const last = transaction.selectFrom("revisions").select((row) => row.fn.max("revision").as("max"));
  // A single statement, because another node may write between two statements.
  const head = await transaction.selectFrom("head").selectAll().select(last.as("logged")).executeTakeFirst();
  const logged = head ? head.logged : (await last.executeTakeFirstOrThrow()).max;
  if ((head?.revision ?? 0) !== (logged ?? 0)) {
    throw new Error(
      `open database: it is damaged (the last write is revision ${head?.revision ?? 0}, but the log ends at ${logged ?? 0}); restore a backup`,
    );
  }
  if (head) {
    const { revision, hash, sequence, batch } = head;
    return { revision, hash, holder: head.holder, sequence, batch };
  }
  const first = { revision: 0, hash: chainStart, holder, sequence: 0, batch: "" };
  await transaction
    .insertInto("head")
    .values({ id: 1, ...first, sequence_kept: 0 })
    .execute();
  return first;
}
