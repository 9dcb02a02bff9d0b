import { sql } from "kysely";
import { chainHash, chainStart } from "./chain.ts";
import type { Database } from "./database.ts";
import type { Documents } from "./documents.ts";
import type { History, StoredObject } from "./store.ts";

/** Revisions read at a time when the chain is verified. */
const verifyStep = 500;
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
  ownerField: (kind: string) => string | undefined,
): History {
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
    let last = reads
      .selectFrom("history")
      .select(["id", sql<number>`max(revision)`.as("revision")])
      .where("account_id", "=", accountId)
      .where("kind", "=", kind)
      .where("revision", "<=", revision);
    if (beforeId !== undefined) last = last.where("id", "<", beforeId);
    const rows = reads
      .selectFrom("history as row")
      .innerJoin(last.groupBy("id").as("last"), (join) =>
        join.onRef("last.id", "=", "row.id").onRef("last.revision", "=", "row.revision"),
      )
      .select(["row.id", "row.account_id", "row.kind", "row.revision", "row.created_at", "row.doc"])
      .where("row.account_id", "=", accountId)
      .where("row.kind", "=", kind)
      .where("row.doc", "is not", null);
    const wanted = owner === undefined ? rows : rows.where("row.doc", "like", `%${owner}%`);
    return wanted.orderBy("row.id", "desc").limit(pageStep).execute();
  };

  return {
    async objectAt(revision, accountId, kind, id) {
      return read(await lastOf(accountId, kind, id, revision));
    },

    async pageAt(revision, accountId, kind, { limit, beforeId, parentId }) {
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
    },

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

    async changesOf(accountId, revision, limit) {
      let query = reads
        .selectFrom("history as row")
        .leftJoin("history as prior", (join) =>
          join
            .onRef("prior.account_id", "=", "row.account_id")
            .onRef("prior.kind", "=", "row.kind")
            .onRef("prior.id", "=", "row.id")
            .on("prior.revision", "=", (is) =>
              is
                .selectFrom("history as earlier")
                .select(sql<number>`max(earlier.revision)`.as("last"))
                .whereRef("earlier.account_id", "=", "row.account_id")
                .whereRef("earlier.kind", "=", "row.kind")
                .whereRef("earlier.id", "=", "row.id")
                .whereRef("earlier.revision", "<", "row.revision"),
            ),
        )
        .selectAll("row")
        .select(["prior.revision as prior_revision", "prior.doc as prior_doc"])
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
    },

    async changedSince(accountId, revision, limit) {
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
    },

    async verify() {
      const head = await reads.selectFrom("head").select(["revision", "hash"]).executeTakeFirstOrThrow();
      let last = 0;
      let hash = chainStart;
      while (last < head.revision) {
        const to = Math.min(last + verifyStep, head.revision);
        const revisions = await reads
          .selectFrom("revisions")
          .selectAll()
          .where("revision", ">", last)
          .where("revision", "<=", to)
          .orderBy("revision")
          .execute();
        const rows = await reads
          .selectFrom("history")
          .selectAll()
          .where("revision", ">", last)
          .where("revision", "<=", to)
          .orderBy("revision")
          .orderBy("position")
          .execute();
        const changes = Map.groupBy(rows, (row) => row.revision);
        for (last += 1; last <= to; last += 1) {
          const revision = revisions.shift();
          if (revision?.revision !== last) return { revisions: last - 1, brokenAt: last };
          hash = chainHash(hash, revision, changes.get(last) ?? []);
          if (revision.hash !== hash) return { revisions: last - 1, brokenAt: last };
        }
        last = to;
      }
      return hash === head.hash ? { revisions: last } : { revisions: last, brokenAt: last };
    },
  };
}
