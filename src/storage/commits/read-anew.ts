/** Updates the state if the database has lost writes, or is too far ahead. */
import type { Log } from "../../lib/log.ts";
import type { Database } from "../database/database.ts";
import type { Documents, ObjectRow } from "../rows/documents.ts";
import type { Kinds } from "../rows/kinds.ts";
import { readEachRow } from "../state/load.ts";
import { readHead } from "./missed.ts";
import type { Published } from "./published.ts";
import type { Head } from "../rows/record.ts";
import type { State } from "../state/state.ts";
import type { Change, StoredObject } from "../store.ts";
import { bytesAdded } from "../rows/usage.ts";

export interface ReadAnewOptions {
  readonly database: Database;
  readonly kinds: Kinds;
  readonly documents: Documents;
  readonly state: State;
  readonly published: Published;
  readonly log: Log;
}

/**
 * Reads every object and compares it with the state. Subscribers get the differences as one commit per account.
 * @param moved gets the database's head, before subscribers get anything
 * @param passesOver as of `readEachRow`
 */
export async function readAnew(
  { database, state, documents, kinds, published, log }: ReadAnewOptions,
  moved: (head: Head) => void,
  passesOver?: (kind: string) => void,
): Promise<void> {
  const { head, changes } = await database.reads
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (snapshot) => {
      const present = await readHead(snapshot);
      const found: Change[] = [];
      const presentIds = new Set<string>();
      const compare = (row: ObjectRow): void => {
        const after = documents.read(row);
        presentIds.add(after.id);
        const before = state.object(after.id);
        if (!before || !isSame(before, after)) found.push({ kind: after.kind, id: after.id, before, after });
      };
      await readEachRow(snapshot, kinds, compare, passesOver);
      for (const before of state.objects()) {
        if (!presentIds.has(before.id)) found.push({ kind: before.kind, id: before.id, before, after: undefined });
      }
      return { head: present, changes: found };
    });
  const ofAccounts = Map.groupBy(changes, ({ before, after }) => (after ?? before)?.account_id ?? "");
  const commits = [...ofAccounts].map(([accountId, own]) => ({ revision: head.revision, accountId, changes: own }));
  published.take({ changes, added: bytesAdded(kinds, changes), commits });
  moved(head);
  log.info("read everything again from the database", { revision: head.revision, changes: changes.length });
  published.tell(commits);
}

function isSame(one: StoredObject, other: StoredObject): boolean {
  return one.revision === other.revision && JSON.stringify(one.doc) === JSON.stringify(other.doc);
}
