import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Tables } from "../database/database.ts";

/** Selects rows of the history as `row`, each with the row that it replaced, if any, as `prior`. */
export function rowsWithPrior(reads: Kysely<Tables>) {
  return reads
    .selectFrom("history as row")
    .leftJoin("history as prior", (join) =>
      join
        .onRef("prior.account_id", "=", "row.account_id")
        .onRef("prior.kind", "=", "row.kind")
        .onRef("prior.id", "=", "row.id")
        .on("prior.revision", "=", (is) =>
          is
            .selectFrom("history as earlier")
            .select(sql<number>`max(earlier.revision)`.as("last"))
            .whereRef("earlier.account_id", "=", "row.account_id")
            .whereRef("earlier.kind", "=", "row.kind")
            .whereRef("earlier.id", "=", "row.id")
            .whereRef("earlier.revision", "<", "row.revision"),
        ),
    )
    .selectAll("row")
    .select(["prior.revision as prior_revision", "prior.doc as prior_doc"]);
}
