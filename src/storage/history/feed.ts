import type { Database } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import type { PastObjects } from "./past-objects.ts";
import type { Retained } from "./retention.ts";
import type { Cursor, Feed, PastChange } from "../store.ts";

export interface FeedParts {
  readonly database: Database;
  readonly documents: Documents;
  readonly past: PastObjects;
  readonly retained: Retained;
  readonly keep: Feed["keep"];
}

export function feedOf({ database: { reads }, documents, past, retained, keep }: FeedParts): Feed {
  const after = async (
    accountId: string,
    from: Cursor,
    { kinds, limit }: { readonly kinds: readonly string[]; readonly limit: number },
  ): Promise<readonly PastChange[]> => {
    const rows = await reads
      .selectFrom("history")
      .innerJoin("revisions", "revisions.revision", "history.revision")
      .select(["history.revision", "position", "kind", "id", "created_at", "doc"])
      .select(["at", "principal", "operation", "operation_id"])
      .where("history.account_id", "=", accountId)
      .where("kind", "in", kinds)
      .where((row) =>
        row.or([
          row("history.revision", ">", from.revision),
          row.and([row("history.revision", "=", from.revision), row("position", ">", from.position)]),
        ]),
      )
      .orderBy("history.revision")
      .orderBy("position")
      .limit(limit)
      .execute();
    const changes = [];
    for (const { revision, position, kind, id, created_at, doc, at, principal, operation, operation_id } of rows) {
      const row = { id, account_id: accountId, kind, revision, created_at };
      changes.push({
        at: { revision, position },
        time: at,
        principal,
        operation,
        operationId: operation_id,
        kind,
        id,
        before: await past.at(revision - 1, accountId, kind, id),
        after: doc === null ? undefined : documents.read({ ...row, doc }),
      });
    }
    return changes;
  };

  return {
    keep,
    async cursors() {
      const rows = await reads.selectFrom("cursors").selectAll().execute();
      return new Map(rows.map(({ name, revision, position }) => [name, { revision, position }]));
    },
    async after(accountId, from, wanted) {
      for (;;) {
        const { oldest } = retained;
        const start = from.revision < oldest ? { revision: oldest, position: -1 } : from;
        const changes = await after(accountId, start, wanted);
        await retained.refresh?.();
        const [first] = changes;
        // Pruning may have overtaken the read.
        if (!first || first.at.revision >= retained.oldest) return changes;
      }
    },
  };
}
