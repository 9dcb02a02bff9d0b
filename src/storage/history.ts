import { sql } from "kysely";
import type { Database } from "./database.ts";
import type { Documents } from "./documents.ts";
import { whileKept } from "./kept.ts";
import type { Kept } from "./kept.ts";
import { rowsWithPrior } from "./prior-row.ts";
import type { Change, History, PageRequest, StoredObject } from "./store.ts";

/** Candidates read at a time for a page of the past. */
const pageStep = 200;

interface PastRow {
  readonly id: string;
  readonly account_id: string;
  readonly kind: string;
  readonly revision: number;
  readonly created_at: string;
  readonly doc: string | null;
}

/** @param ownerField the field that names the owner of a kind's objects */
export function historyOf(
  { reads }: Database,
  documents: Documents,
  kept: Kept,
  ownerField: (kind: string) => string | undefined,
): Omit<History, "verify"> {
  const read = (row: PastRow | undefined): StoredObject | undefined =>
    row && row.doc !== null ? documents.read({ ...row, doc: row.doc }) : undefined;

  /** The last row of an object up to a revision. */
  const lastOf = (accountId: string, kind: string, id: string, revision: number): Promise<PastRow | undefined> =>
    reads
      .selectFrom("history")
      .select(["id", "account_id", "kind", "revision", "created_at", "doc"])
      .where("account_id", "=", accountId)
      .where("kind", "=", kind)
      .where("id", "=", id)
      .where("revision", "<=", revision)
      .orderBy("revision", "desc")
      .limit(1)
      .executeTakeFirst();

  /** The last rows up to a revision of the kind's objects, newest object first. `owner`: text that they must contain. */
  const lastRows = (
    accountId: string,
    kind: string,
    revision: number,
    beforeId: string | undefined,
    owner: string | undefined,
  ): Promise<PastRow[]> => {
    let rows = reads
      .selectFrom("history as row")
      .select(["row.id", "row.account_id", "row.kind", "row.revision", "row.created_at", "row.doc"])
      .where("row.account_id", "=", accountId)
      .where("row.kind", "=", kind)
      .where("row.revision", "<=", revision)
      .where("row.doc", "is not", null)
      // One look into the index for each row. Joined, some plans go through all rows for each.
      .where("row.revision", "=", (is) =>
        is
          .selectFrom("history as last")
          .select(sql<number>`max(last.revision)`.as("last"))
          .whereRef("last.account_id", "=", "row.account_id")
          .whereRef("last.kind", "=", "row.kind")
          .whereRef("last.id", "=", "row.id")
          .where("last.revision", "<=", revision),
      );
    if (beforeId !== undefined) rows = rows.where("row.id", "<", beforeId);
    const wanted = owner === undefined ? rows : rows.where("row.doc", "like", `%${owner}%`);
    return wanted.orderBy("row.id", "desc").limit(pageStep).execute();
  };

  const pageAt = async (
    revision: number,
    accountId: string,
    kind: string,
    { limit, beforeId, parentId }: PageRequest,
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly more: boolean }> => {
    const field = ownerField(kind) ?? "";
    const owner = parentId === undefined ? undefined : `${JSON.stringify(field)}:${JSON.stringify(parentId)}`;
    const objects: StoredObject[] = [];
    let below = beforeId;
    for (;;) {
      const rows = await lastRows(accountId, kind, revision, below, owner);
      for (const row of rows) {
        const object = read(row) as StoredObject;
        // The text may also be found elsewhere in a document.
        if (parentId !== undefined && object.doc[field] !== parentId) continue;
        if (objects.length === limit) return { objects, more: true };
        objects.push(object);
      }
      if (rows.length < pageStep) return { objects, more: false };
      below = rows.at(-1)?.id;
    }
  };

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
      return { kind: row.kind, id: row.id, before: read(before), after: read(after) };
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
      changed.push({ kind, id, past: read(await lastOf(accountId, kind, id, revision)) });
    }
    return changed;
  };

  return {
    get oldest() {
      return kept.oldest;
    },
    objectAt: (revision, accountId, kind, id) =>
      whileKept(kept, revision, async () => read(await lastOf(accountId, kind, id, revision))),
    pageAt: (revision, ...wanted) => whileKept(kept, revision, () => pageAt(revision, ...wanted)),
    changesOf: (accountId, revision, limit) => whileKept(kept, revision, () => changesOf(accountId, revision, limit)),
    changedSince: (accountId, revision, limit) =>
      whileKept(kept, revision, () => changedSince(accountId, revision, limit)),

    async revisions(accountId, { limit, before, principal, operation, kind, objectId }) {
      let query = reads.selectFrom("revisions").selectAll().where("account_id", "=", accountId);
      if (before !== undefined) query = query.where("revision", "<", before);
      if (principal !== undefined) query = query.where("principal", "=", principal);
      if (operation !== undefined) query = query.where("operation", "=", operation);
      if (kind !== undefined || objectId !== undefined) {
        query = query.where((is) => {
          let changed = is
            .selectFrom("history")
            .select("history.revision")
            .whereRef("history.revision", "=", "revisions.revision")
            .where("history.account_id", "=", accountId);
          if (kind !== undefined) changed = changed.where("history.kind", "=", kind);
          if (objectId !== undefined) changed = changed.where("history.id", "=", objectId);
          return is.exists(changed);
        });
      }
      const rows = await query
        .orderBy("revision", "desc")
        .limit(limit + 1)
        .execute();
      return { revisions: rows.slice(0, limit), more: rows.length > limit };
    },
  };
}
