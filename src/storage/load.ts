import { continueAfter } from "../lib/ids.ts";
import type { Database } from "./database/database.ts";
import type { Documents } from "./documents.ts";
import type { Kinds } from "./kinds.ts";
import { State } from "./state.ts";
import type { Change } from "./store.ts";
import { Usage, bytesAdded } from "./usage.ts";

/** Rows in memory at a time besides the objects made of them. */
const step = 2000;

/** Reads every object into memory. */
export async function loadState(
  { reads }: Database,
  kinds: Kinds,
  documents: Documents,
): Promise<{ readonly state: State; readonly usage: Usage }> {
  const state = new State(kinds);
  const usage = new Usage();
  let last = "";
  // Neighbours mostly share kind and account: as one string each, not one per row.
  let kind = "";
  let account_id = "";
  for (;;) {
    const rows = await reads
      .selectFrom("objects")
      .selectAll()
      .where("id", ">", last)
      .orderBy("id")
      .limit(step)
      .execute();
    const changes: Change[] = [];
    for (const row of rows) {
      if (row.kind !== kind) {
        const declared = kinds.get(row.kind);
        if (!declared) {
          throw new Error(`load "${row.id}": this version of Postern does not know the kind "${row.kind}"`);
        }
        kind = declared.name;
      }
      if (row.account_id !== account_id) account_id = row.account_id;
      changes.push({ kind, id: row.id, before: undefined, after: documents.read({ ...row, kind, account_id }) });
    }
    state.merge(changes);
    usage.add(bytesAdded(kinds, changes));
    if (rows.length < step) break;
    last = rows.at(-1)?.id as string;
  }
  for (const id of state.newestIds()) continueAfter(id);
  return { state, usage };
}
