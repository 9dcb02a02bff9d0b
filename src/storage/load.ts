import { continueAfter } from "../lib/ids.ts";
import type { Database } from "./database/database.ts";
import type { Documents } from "./documents.ts";
import type { Kinds } from "./kinds.ts";
import { State } from "./state.ts";
import type { StoredObject } from "./store.ts";
import { Usage, bytesAdded } from "./usage.ts";

/** Rows in memory at a time besides the objects made of them. */
const step = 2000;

/**
 * Every object, some thousand at a time.
 * @param passesOver is told of kinds that are not declared, whose objects are left out then; an error unless given
 */
export async function* readObjects(
  reads: Database["reads"],
  kinds: Kinds,
  documents: Documents,
  passesOver?: (kind: string) => void,
): AsyncGenerator<readonly StoredObject[]> {
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
    const objects: StoredObject[] = [];
    for (const row of rows) {
      if (row.kind !== kind) {
        const declared = kinds.get(row.kind);
        if (!declared) {
          if (!passesOver) {
            throw new Error(`load "${row.id}": this version of Postern does not know the kind "${row.kind}"`);
          }
          passesOver(row.kind);
          continue;
        }
        kind = declared.name;
      }
      if (row.account_id !== account_id) account_id = row.account_id;
      objects.push(documents.read({ ...row, kind, account_id }));
    }
    yield objects;
    if (rows.length < step) return;
    last = rows.at(-1)?.id as string;
  }
}

/** Reads every object into memory. */
export async function loadState(
  reads: Database["reads"],
  kinds: Kinds,
  documents: Documents,
): Promise<{ readonly state: State; readonly usage: Usage }> {
  const state = new State(kinds);
  const usage = new Usage();
  for await (const objects of readObjects(reads, kinds, documents)) {
    const changes = objects.map((after) => ({ kind: after.kind, id: after.id, before: undefined, after }));
    state.merge(changes);
    usage.add(bytesAdded(kinds, changes));
  }
  for (const id of state.newestIds()) continueAfter(id);
  return { state, usage };
}
