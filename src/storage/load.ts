import { continueAfter } from "../lib/ids.ts";
import type { Database } from "./database.ts";
import type { Documents } from "./documents.ts";
import type { Kinds } from "./kinds.ts";
import { State } from "./state.ts";
import type { Change } from "./store.ts";

/** Rows in memory at a time besides the objects made of them. */
const step = 2000;

/** Reads every object into memory. */
export async function loadState({ reads }: Database, kinds: Kinds, documents: Documents): Promise<State> {
  const state = new State(kinds);
  const known = new Set(kinds.keys());
  let last = "";
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
      if (!known.has(row.kind)) {
        throw new Error(`load "${row.id}": this version of Postern does not know the kind "${row.kind}"`);
      }
      changes.push({ kind: row.kind, id: row.id, before: undefined, after: documents.read(row) });
    }
    state.merge(changes);
    if (rows.length < step) break;
    last = rows.at(-1)?.id as string;
  }
  for (const id of state.newestIds()) continueAfter(id);
  return state;
}
