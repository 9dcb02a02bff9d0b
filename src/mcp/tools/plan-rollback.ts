import { encodePath } from "../parts/api-path.ts";
import { changeLines, countsOf } from "../parts/change-lines.ts";
import { countOf, ToolError } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";
import { explainHowToApply, isEmpty } from "./plan-change.ts";

export const maxRevision = Number.MAX_SAFE_INTEGER;

export const planRollback: Tool = {
  name: "plan_rollback",
  title: "Plan a rollback",
  description:
    "Show what restoring the configuration to an earlier revision would change, without changing anything. To undo revision 43, plan the rollback to the revision before it, 42. list_changes lists the revisions.",
  input: { revision: { type: "integer", minimum: 1, description: "The revision whose state is restored." } },
  required: ["revision"],
  needsWrite: true,
  async run(input, { api, plans, keyId }) {
    const revision = countOf(input, "revision", maxRevision);
    if (revision === undefined) throw new ToolError('The argument "revision" is missing.');
    const at = encodePath`/revisions/${revision}/rollback?dry_run=true`;
    const { hash, summary, changes } = await api({ method: "POST", path: at, withRightsOfKey: true });
    await plans.keep(keyId, hash, { revision });
    return [
      `Plan ${hash}, rollback to revision ${revision}: ${countsOf(summary)}. Nothing was changed.`,
      ...changeLines(changes),
      isEmpty(summary) ? "There is nothing to apply." : explainHowToApply(hash),
    ].join("\n");
  },
};
