/** Objects as they were at a revision, read from the rows of the history. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import type { History, StoredObject } from "../store.ts";

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

export interface PastObjects {
  /** Returns undefined for a row that deletes the object. */
  read(row: PastRow | undefined): StoredObject | undefined;
  at(revision: number, accountId: string, kind: string, id: string): Promise<StoredObject | undefined>;
  /** Newest object first. */
  readonly pageAt: History["pageAt"];
  readonly childrenAt: History["childrenAt"];
}

type Reads = Database["reads"];

/** @param ownerField the field that names the owner of a kind's objects */
export function makePastObjects(
  reads: Reads,
  documents: Documents,
  ownerField: (kind: string) => string | undefined,
): PastObjects {
  const read: PastObjects["read"] = (row) =>
    row && row.doc !== null ? documents.read({ ...row, doc: row.doc }) : undefined;
  const pageAt: PastObjects["pageAt"] = async (revision, accountId, kind, { limit, beforeId, parentId }) => {
    const field = ownerField(kind) ?? "";
    const owner = parentId === undefined ? undefined : `${JSON.stringify(field)}:${JSON.stringify(parentId)}`;
    const objects: StoredObject[] = [];
    let below = beforeId;
    for (;;) {
      const rows = await readLastRows(reads, { revision, accountId, kind, beforeId: below, owner });
      for (const row of rows) {
        const object = read(row) as StoredObject;
        // The text may also match elsewhere in a document.
        if (parentId !== undefined && object.doc[field] !== parentId) continue;
        if (objects.length === limit) return { objects, more: true };
        objects.push(object);
      }
      if (rows.length < pageStep) return { objects, more: false };
      below = rows.at(-1)?.id;
    }
  };
  return {
    read,
    pageAt,
    childrenAt: (revision, accountId, kind, parentIds) =>
      childrenOf(pageAt, ownerField(kind) ?? "", revision, accountId, kind, parentIds),
    at: async (revision, accountId, kind, id) => read(await readLastRow(reads, revision, accountId, kind, id)),
  };
}

/** Returns past objects of `kind` by their owner. */
async function childrenOf(
  pageAt: PastObjects["pageAt"],
  field: string,
  ...[revision, accountId, kind, parentIds]: Parameters<PastObjects["childrenAt"]>
): Promise<ReadonlyMap<string, readonly StoredObject[]>> {
  const children = new Map<string, StoredObject[]>();
  let beforeId: string | undefined;
  for (;;) {
    const request = { limit: pageStep - 1, ...(beforeId !== undefined && { beforeId }) };
    const { objects, more } = await pageAt(revision, accountId, kind, request);
    for (const object of objects) {
      const owner = String(object.doc[field]);
      const siblings = children.get(owner);
      if (siblings) siblings.push(object);
      else if (parentIds.has(owner)) children.set(owner, [object]);
    }
    if (!more) break;
    beforeId = objects.at(-1)?.id;
    await nextTurn();
  }
  for (const siblings of children.values()) siblings.reverse();
  return children;
}

/** Returns the last row of an object up to a revision. */
function readLastRow(
  reads: Reads,
  revision: number,
  accountId: string,
  kind: string,
  id: string,
): Promise<PastRow | undefined> {
  return reads
    .selectFrom("history")
    .select(["id", "account_id", "kind", "revision", "created_at", "doc"])
    .where("account_id", "=", accountId)
    .where("kind", "=", kind)
    .where("id", "=", id)
    .where("revision", "<=", revision)
    .orderBy("revision", "desc")
    .limit(1)
    .executeTakeFirst();
}

interface WantedRows {
  readonly revision: number;
  readonly accountId: string;
  readonly kind: string;
  readonly beforeId: string | undefined;
  /** Text that a document must contain. */
  readonly owner: string | undefined;
}

/** Returns the last rows of the kind's objects up to a revision, newest object first. */
function readLastRows(reads: Reads, { revision, accountId, kind, beforeId, owner }: WantedRows): Promise<PastRow[]> {
  let rows = reads
    .selectFrom("history as row")
    .select(["row.id", "row.account_id", "row.kind", "row.revision", "row.created_at", "row.doc"])
    .where("row.account_id", "=", accountId)
    .where("row.kind", "=", kind)
    .where("row.revision", "<=", revision)
    .where("row.doc", "is not", null)
    // One index lookup per row. With a join, some query plans scan all rows for each one.
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
}
