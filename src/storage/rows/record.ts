/** A batch of writes as rows, and as the statements that store them in the database. */
import { chainHash } from "../database/audit-chain.ts";
import type { DatabaseStep, Tables } from "../database/database.ts";
import type { Documents } from "./documents.ts";
import { deleteFrom, insertInto, renderPlaceholder } from "../database/insert.ts";
import type { Dialect } from "../database/insert.ts";
import type { Change, WriteContext } from "../store.ts";

/** A write that is ready to be stored. */
export interface StoredWrite {
  readonly revision: number;
  readonly at: string;
  readonly context: WriteContext;
  readonly changes: readonly Change[];
}

export type IdempotencyRow = Tables["idempotency"];

/**
 * State of the database. `holder` identifies the process that may write. It changes with each start, and is the same
 * for all nodes that write together.
 */
export interface Head {
  readonly revision: number;
  readonly hash: string;
  readonly holder: string;
  /** Number and name of the last batch; they change only while several nodes write. */
  readonly sequence: number;
  readonly batch: string;
}

export interface Batch {
  readonly before: Head;
  readonly after: Head;
  readonly revisions: readonly Tables["revisions"][];
  readonly history: readonly Tables["history"][];
  readonly objects: readonly Tables["objects"][];
  readonly deleted: readonly string[];
  readonly answers: readonly IdempotencyRow[];
  readonly cursors: readonly Tables["cursors"][];
  /** Names of cursors that are no longer needed. */
  readonly droppedCursors: readonly string[];
}

/** Returns the rows of a batch. `changes` are those of all entries together, one per object. */
export function batchOf(
  documents: Documents,
  before: Head,
  entries: readonly StoredWrite[],
  changes: Iterable<Change>,
  rest: Pick<Batch, "answers" | "cursors" | "droppedCursors">,
): Batch {
  const texts = new Map<object, string>();
  const revisions: Tables["revisions"][] = [];
  const history: Tables["history"][] = [];
  let { hash } = before;
  for (const { revision, at, context, changes } of entries) {
    const rows = changes.map(({ kind, id, before, after }, position) => {
      const doc = after ? documents.render(after) : null;
      if (after) texts.set(after, doc as string);
      const { account_id, created_at } = (after ?? before) as NonNullable<typeof before>;
      return { revision, position, account_id, kind, id, created_at, doc };
    });
    const row = {
      revision,
      at,
      account_id: cleanText(context.principal.accountId),
      principal: cleanText(context.principal.id),
      operation: cleanText(context.operation),
      operation_id: cleanText(context.operationId),
      source: context.principal.source === undefined ? null : cleanText(context.principal.source),
      reason: context.reason === undefined ? null : cleanText(context.reason),
    };
    hash = chainHash(hash, row, rows);
    revisions.push({ ...row, hash });
    history.push(...rows);
  }
  const objects: Tables["objects"][] = [];
  const deleted: string[] = [];
  for (const { id, after } of changes) {
    if (!after) deleted.push(id);
    else {
      const { account_id, kind, revision, created_at } = after;
      const doc = documents.packs(kind) ? documents.renderRow(after) : (texts.get(after) ?? documents.render(after));
      objects.push({ id, account_id, kind, revision, created_at, doc });
    }
  }
  const after = { ...before, revision: entries.at(-1)?.revision ?? before.revision, hash };
  return { before, after, revisions, history, objects, deleted, ...rest };
}

const insertRevisions = insertInto("revisions", [
  "revision",
  "at",
  "account_id",
  "principal",
  "operation",
  "operation_id",
  "source",
  "reason",
  "hash",
]);
const insertHistory = insertInto("history", ["revision", "position", "account_id", "kind", "id", "created_at", "doc"]);
export const putObjects = insertInto(
  "objects",
  ["id", "account_id", "kind", "revision", "created_at", "doc"],
  "on conflict (id) do update set revision = excluded.revision, doc = excluded.doc",
);
const putAnswers = insertInto(
  "idempotency",
  ["account_id", "key", "fingerprint", "revision", "answer", "created_ms"],
  "on conflict (account_id, key) do update set fingerprint = excluded.fingerprint, " +
    "revision = excluded.revision, answer = excluded.answer, created_ms = excluded.created_ms",
);

const putCursors = insertInto(
  "cursors",
  ["name", "revision", "position"],
  "on conflict (name) do update set revision = excluded.revision, position = excluded.position",
);

const dropObjects = deleteFrom("objects", "id");
const dropCursors = deleteFrom("cursors", "name");

/** Returns the steps that store a batch if the database is in the state from which the batch begins. */
export function stepsOf(dialect: Dialect, batch: Batch): DatabaseStep[] {
  const { before, after } = batch;
  const place = (at: number): string => renderPlaceholder(dialect, at);
  return [
    {
      sql:
        `update head set revision = ${place(0)}, hash = ${place(1)} where id = 1 ` +
        `and revision = ${place(2)} and hash = ${place(3)} and holder = ${place(4)}`,
      parameters: [after.revision, after.hash, before.revision, before.hash, before.holder],
      changes: 1,
    },
    ...rowSteps(dialect, batch),
  ];
}

/** Returns the rows that the batch stores and deletes, without any condition. */
export function rowSteps(dialect: Dialect, batch: Batch): DatabaseStep[] {
  return [
    ...insertRevisions(dialect, batch.revisions),
    ...insertHistory(dialect, batch.history),
    ...putObjects(dialect, batch.objects),
    ...putAnswers(dialect, batch.answers),
    ...putCursors(dialect, batch.cursors),
    ...dropObjects(dialect, batch.deleted),
    ...dropCursors(dialect, batch.droppedCursors),
  ];
}

/** Guards a commit without a write: only the process named in the head may make it. */
export function holderStep(dialect: Dialect, holder: string): DatabaseStep {
  const place = (at: number): string => renderPlaceholder(dialect, at);
  return {
    sql: `update head set holder = ${place(0)} where id = 1 and holder = ${place(1)}`,
    parameters: [holder, holder],
    changes: 1,
  };
}

/** Replaces the predecessor's name with the one of `head`. Safe to repeat after a commit in doubt. */
export function takeOverStep(dialect: Dialect, { revision, hash, holder }: Head, predecessor: string): DatabaseStep {
  const place = (at: number): string => renderPlaceholder(dialect, at);
  return {
    sql:
      `update head set holder = ${place(0)} where id = 1 ` +
      `and revision = ${place(1)} and hash = ${place(2)} and holder in (${place(3)}, ${place(4)})`,
    parameters: [holder, revision, hash, predecessor, holder],
    changes: 1,
  };
}

/** PostgreSQL accepts neither NUL nor lone surrogates in text. */
export function cleanText(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}
