import { sql } from "kysely";
import { continueAfter } from "../lib/ids.ts";
import type { Database } from "./database/database.ts";
import type { Documents, ObjectRow } from "./documents.ts";
import type { Kinds } from "./kinds.ts";
import { State } from "./state.ts";
import { kindNamed } from "./view.ts";
import { Usage, bytesAdded } from "./usage.ts";

/** Rows in memory at a time besides the objects made of them. */
const step = 2_000;

/**
 * Gives `take` every object's row, the oldest of each kind first.
 * @param passesOver is told of kinds that are not declared, whose objects are left out then; an error unless given
 */
export async function eachRow(
  reads: Database["reads"],
  kinds: Kinds,
  take: (row: ObjectRow) => void,
  passesOver?: (kind: string) => void,
): Promise<void> {
  let last = "";
  // Neighbours mostly share kind and account: those of the page before are read as null.
  let kind = "";
  let account_id = "";
  for (;;) {
    const rows = await reads
      .selectFrom("objects")
      .select(["id", "revision", "created_at", "doc"])
      .select(sql<string | null>`nullif(kind, ${kind})`.as("other_kind"))
      .select(sql<string | null>`nullif(account_id, ${account_id})`.as("other_account"))
      .where("id", ">", last)
      .orderBy("id")
      .limit(step)
      .execute();
    const [kindBefore, accountBefore] = [kind, account_id];
    for (const row of rows) {
      const kindNow = row.other_kind ?? kindBefore;
      if (kindNow !== kind) {
        const declared = kinds.get(kindNow);
        if (!declared) {
          if (!passesOver) {
            throw new Error(`load "${row.id}": this version of Postern does not know the kind "${kindNow}"`);
          }
          passesOver(kindNow);
          continue;
        }
        kind = declared.name;
      }
      const accountNow = row.other_account ?? accountBefore;
      if (accountNow !== account_id) account_id = accountNow;
      const { id, revision, created_at, doc } = row;
      take({ id, account_id, kind, revision, created_at, doc });
    }
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
  await eachRow(reads, kinds, (row) => {
    const { packing, unrecorded } = kindNamed(kinds, row.kind);
    if (packing && unrecorded) {
      const { packed, keys } = documents.readPacked(row);
      state.loadPacked(row, packed, keys);
      return;
    }
    const after = documents.read(row);
    const changes = [{ kind: after.kind, id: after.id, before: undefined, after }];
    state.merge(changes);
    usage.add(bytesAdded(kinds, changes));
  });
  for (const id of state.newestIds()) continueAfter(id);
  return { state, usage };
}
