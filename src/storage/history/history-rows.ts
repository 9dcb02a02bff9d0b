import type { Kysely, SelectQueryBuilder } from "kysely";
import type { Tables } from "../database/database.ts";

/** Rows in memory at a time. */
const step = 500;

type HistoryRow = Tables["history"];
type RowQuery = SelectQueryBuilder<Tables, "history", HistoryRow>;

/**
 * Yields the rows of the history that match `narrow`, oldest first, in pages of several hundred. The last page may be
 * empty.
 */
export async function* historyRows(
  reads: Kysely<Tables>,
  narrow: (rows: RowQuery) => RowQuery,
): AsyncGenerator<readonly HistoryRow[]> {
  let last = { revision: 0, position: -1 };
  for (;;) {
    const { revision, position } = last;
    const rows = await narrow(reads.selectFrom("history").selectAll())
      .where("revision", ">=", revision)
      .where((row) => row.or([row("revision", ">", revision), row("position", ">", position)]))
      .orderBy("revision")
      .orderBy("position")
      .limit(step)
      .execute();
    yield rows;
    if (rows.length < step) return;
    last = rows.at(-1) as HistoryRow;
  }
}
