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

  /** Ids of a kind that existed at some time up to a revision, newest first. */
  const idsOf = async (
    accountId: string,
    kind: string,
    revision: number,
    beforeId: string | undefined,
  ): Promise<readonly string[]> => {
    let query = reads
      .selectFrom("history")
      .select("id")
      .distinct()
      .where("account_id", "=", accountId)
      .where("kind", "=", kind)
      .where("revision", "<=", revision);
    if (beforeId !== undefined) query = query.where("id", "<", beforeId);
    const rows = await query.orderBy("id", "desc").limit(pageStep).execute();
    return rows.map(({ id }) => id);
  };

  return {
    async objectAt(revision, accountId, kind, id) {
      return read(await lastOf(accountId, kind, id, revision));
    },

    async pageAt(revision, accountId, kind, { limit, beforeId, parentId }) {
      const objects: StoredObject[] = [];
      let below = beforeId;
      for (;;) {
        const ids = await idsOf(accountId, kind, revision, below);
        for (const id of ids) {
          const object = read(await lastOf(accountId, kind, id, revision));
          if (!object || (parentId !== undefined && object.doc[ownerField(kind) ?? ""] !== parentId)) continue;
          if (objects.length === limit) return { objects, more: true };
          objects.push(object);
        }
        if (ids.length < pageStep) return { objects, more: false };
        below = ids.at(-1);
      }
    },

    async revisions(accountId, { limit, before }) {
      let query = reads.selectFrom("revisions").selectAll().where("account_id", "=", accountId);
      if (before !== undefined) query = query.where("revision", "<", before);
      const rows = await query
        .orderBy("revision", "desc")
        .limit(limit + 1)
        .execute();
      return { revisions: rows.slice(0, limit), more: rows.length > limit };
    },

    async changesOf(accountId, revision) {
      const rows = await reads
        .selectFrom("history")
        .selectAll()
        .where("revision", "=", revision)
        .where("account_id", "=", accountId)
        .orderBy("position")
        .execute();
      const changes = [];
      for (const row of rows) {
        const before = read(await lastOf(accountId, row.kind, row.id, revision - 1));
        changes.push({ kind: row.kind, id: row.id, before, after: read(row) });
      }
      return changes;
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
