import { continueAfter } from "../../lib/ids.ts";
import type { Database } from "../database/database.ts";
import type { Documents, ObjectRow } from "../rows/documents.ts";
import type { Kind, Kinds } from "../rows/kinds.ts";
import { Rows, readLargeDoc, pagesOfRows } from "../rows/rows.ts";
import { State } from "./state.ts";
import { Usage, bytesOf } from "../rows/usage.ts";

/**
 * Passes every object's row to `take`, the oldest of each kind first.
 * @param passesOver called with undeclared kinds, whose objects are skipped. Default: an undeclared kind throws
 */
export async function readEachRow(
  reads: Database["reads"],
  kinds: Kinds,
  take: (row: ObjectRow) => void,
  passesOver?: (kind: string) => void,
): Promise<void> {
  await readEachOfRows(reads, kinds, (rows) => take(rows.row()), passesOver);
}

/** Same as `readEachRow`, with the reader of the rows. `take` must copy what it needs immediately. */
async function readEachOfRows(
  reads: Database["reads"],
  kinds: Kinds,
  take: (rows: Rows, kind: Kind) => void,
  passesOver?: (kind: string) => void,
): Promise<void> {
  const rows = new Rows();
  let kind: Kind | undefined;
  for await (const page of pagesOfRows(reads)) {
    rows.open(page);
    let count = 0;
    while (rows.next()) {
      count += 1;
      if (rows.isLarge) rows.largeDoc = await readLargeDoc(reads, rows.idText());
      if (kind?.name !== rows.kind) kind = kinds.get(rows.kind);
      if (kind) take(rows, kind);
      else if (passesOver) passesOver(rows.kind);
      else throw new Error(`load "${rows.idText()}": this version of Postern does not know the kind "${rows.kind}"`);
    }
    if (count !== page.count) throw new Error("load objects: a row is not as it was written");
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
  await readEachOfRows(reads, kinds, (rows, { packing, unrecorded }) => {
    if (rows.isLast) continueAfter(rows.idText());
    if (packing && unrecorded && state.loadRow(rows)) return;
    const object = documents.read(rows.row());
    state.load(object);
    if (!unrecorded) usage.add([[object.account_id, bytesOf(object)]]);
  });
  state.settle();
  return { state, usage };
}
