/** What a list of ended traffic may lack, and where its next page begins. */
import { firstIdAt } from "../../lib/traffic-ids.ts";
import type { Missing } from "../../routing/planes/missing-records.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { object, orNull, textOrNull } from "../operation/shapes.ts";

export const missingSchema: JsonSchema = orNull(
  object("Why the page may lack entries; null if it does not.", {
    reason: {
      type: "string",
      enum: ["time", "busy", "failed", "silent"],
      description:
        "`time`: the search took too long, and the next page continues it. `busy`: too many searches wait. `failed`: a node could not read its captured requests. `silent`: an edge did not answer.",
    },
    searched_to: textOrNull("Everything from this time on was searched; null if the reason is not `time`."),
  }),
);

export function viewOfMissing(missing: Missing | undefined): object | null {
  if (missing === undefined) return null;
  const { reason, searchedTo } = missing;
  const isTime = searchedTo !== undefined && Number.isFinite(searchedTo);
  return { reason, searched_to: isTime ? new Date(searchedTo).toISOString() : null };
}

/** Returns the id before which the next page begins. */
export function nextOf(traces: readonly { readonly id: string }[], missing: Missing | undefined): string | undefined {
  const { searchedTo } = missing ?? {};
  return searchedTo === undefined ? traces.at(-1)?.id : firstIdAt("req_", searchedTo);
}
