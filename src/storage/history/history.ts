import { sql } from "kysely";
import type { Database } from "../database/database.ts";
import { whileRetained } from "./retention.ts";
import type { Retained } from "./retention.ts";
import type { PastObjects } from "./past-objects.ts";
import { rowsWithPrior } from "./prior-row.ts";
import { listRevisions } from "./revision-list.ts";
import type { Change, History } from "../store.ts";

export function historyOf(
  { reads }: Database,
  pastObjects: PastObjects,
  retained: Retained,
): Omit<History, "verify" | "onHeld"> {
  const changesOf = async (accountId: string, revision: number, limit?: number): Promise<readonly Change[]> => {
    let query = rowsWithPrior(reads)
      .where("row.revision", "=", revision)
      .where("row.account_id", "=", accountId)
      .orderBy("row.position");
    if (limit !== undefined) query = query.limit(limit);
    const rows = await query.execute();
    return rows.map((row) => {
      const { prior_revision, prior_doc, ...after } = row;
      const before = { ...after, revision: prior_revision ?? 0, doc: prior_doc };
      return { kind: row.kind, id: row.id, before: pastObjects.read(before), after: pastObjects.read(after) };
    });
  };

  const changedSince: History["changedSince"] = async (accountId, revision, limit) => {
    const rows = await reads
      .selectFrom("history")
      .select(["kind", "id", sql<number>`min(revision)`.as("first")])
      .where("account_id", "=", accountId)
      .where("revision", ">", revision)
      .groupBy(["kind", "id"])
      .orderBy("first")
      .orderBy("id")
      .limit(limit)
      .execute();
    const changed = [];
    for (const { kind, id } of rows) {
      changed.push({ kind, id, past: await pastObjects.at(revision, accountId, kind, id) });
    }
    return changed;
  };

  return {
    get oldest() {
      return retained.oldest;
    },
    objectAt: (revision, accountId, kind, id) =>
      whileRetained(retained, revision, () => pastObjects.at(revision, accountId, kind, id)),
    pageAt: (revision, ...wanted) => whileRetained(retained, revision, () => pastObjects.pageAt(revision, ...wanted)),
    childrenAt: (revision, ...wanted) =>
      whileRetained(retained, revision, () => pastObjects.childrenAt(revision, ...wanted)),
    changesOf: (accountId, revision, limit) =>
      whileRetained(retained, revision, () => changesOf(accountId, revision, limit)),
    changedSince: (accountId, revision, limit) =>
      whileRetained(retained, revision, () => changedSince(accountId, revision, limit)),

    revisions: (accountId, wanted) => listRevisions(reads, accountId, wanted),
  };
}
