/** The statements of a batch when several nodes write. */
import type { Fence } from "../cluster/lease.ts";
import { channel } from "../database/database.ts";
import type { DatabaseStep, Tables } from "../database/database.ts";
import { insertInto } from "../database/insert.ts";
import type { Documents } from "../rows/documents.ts";
import { rowSteps } from "../rows/record.ts";
import type { Batch } from "../rows/record.ts";
import type { Commit, StoredObject } from "../store.ts";

const putUnrecorded = insertInto("unrecorded", [
  "sequence",
  "write",
  "position",
  "after_revision",
  "writer_id",
  "account_id",
  "kind",
  "id",
  "revision",
  "created_at",
  "doc",
]);

/**
 * Stores the batch if the database is in the state from which it begins, and the node's lease is the one of `fence`.
 */
export function makeSharedSteps(
  batch: Batch,
  unrecorded: readonly Commit[],
  documents: Pick<Documents, "render">,
  fence: Fence,
): DatabaseStep[] {
  const { before, after } = batch;
  return [
    {
      sql:
        "with fence as (select 1 from nodes where id = $8 and epoch = $9 for key share) " +
        "update head set revision = $1, hash = $2, sequence = $3, batch = $4 where id = 1 " +
        "and sequence = $5 and batch = $6 and holder = $7 and exists (select 1 from fence)",
      parameters: [
        after.revision,
        after.hash,
        after.sequence,
        after.batch,
        before.sequence,
        before.batch,
        before.holder,
        fence.node,
        fence.epoch,
      ],
      changes: 1,
    },
    {
      sql:
        "with one as (insert into batches (sequence, name, at_ms) " +
        "values ($1, $2, (extract(epoch from clock_timestamp()) * 1000)::bigint)) select pg_notify($3, $4)",
      parameters: [after.sequence, after.batch, channel, fence.node],
    },
    ...rowSteps("postgres", batch),
    ...putUnrecorded("postgres", makeUnrecordedRows(after.sequence, unrecorded, documents)),
  ];
}

/** Guards a commit without a write: only a node with its lease may make it. */
export function makeHolderStep(holder: string, fence: Fence): DatabaseStep {
  return {
    sql:
      "with fence as (select 1 from nodes where id = $2 and epoch = $3 for key share) " +
      "update head set holder = $1 where id = 1 and holder = $1 and exists (select 1 from fence)",
    parameters: [holder, fence.node, fence.epoch],
    changes: 1,
  };
}

function* rowsOf(
  sequence: number,
  commits: readonly Commit[],
  documents: Pick<Documents, "render">,
): Iterable<Tables["unrecorded"]> {
  for (const [write, { revision: after_revision, accountId: writer_id, changes }] of commits.entries()) {
    for (const [position, { before, after }] of changes.entries()) {
      const { account_id, kind, id, revision, created_at } = (after ?? before) as StoredObject;
      const place = { sequence, write, position, after_revision, writer_id };
      yield { ...place, account_id, kind, id, revision, created_at, doc: after ? documents.render(after) : null };
    }
  }
}

function makeUnrecordedRows(...given: Parameters<typeof rowsOf>): readonly Tables["unrecorded"][] {
  return [...rowsOf(...given)];
}
