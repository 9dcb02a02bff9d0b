/** M1: the only tool that changes the configuration. It makes exactly the changes of a plan, or none. */
import { encodePath } from "../parts/api-path.ts";
import type { ApiCall } from "../parts/api-path.ts";
import { changeLines } from "../parts/change-lines.ts";
import type { PlannedRequest } from "../parts/kept-plans.ts";
import { consoleLink } from "../parts/links.ts";
import { countOf, requireText, textOf, ToolError } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";
import { documentOf } from "./plan-change.ts";
import { maxRevision } from "./plan-rollback.ts";

export const applyPlan: Tool = {
  name: "apply_plan",
  title: "Apply a plan",
  description:
    "Make exactly the changes of a plan from plan_change or plan_rollback. Refused if the changes would now be different. The history records the client's name and the reason.",
  input: {
    plan: { type: "string", description: "Hash of the plan." },
    reason: { type: "string", description: "Why the change is made, for the history." },
    document: { type: "object", description: "The planned document, if the server no longer has the plan." },
    revision: { type: "integer", minimum: 1, description: "The revision of the rollback, likewise." },
  },
  required: ["plan"],
  changes: true,
  async run(input, { api, plans, keyId, client, confirm, baseUrl }) {
    const hash = requireText(input, "plan", 64);
    if (!/^[0-9a-f]{32}$/.test(hash)) throw new ToolError("A plan's hash has 32 hexadecimal digits.");
    const request = (await plans.find(keyId, hash)) ?? sent();
    const planned = await api(callOf(request, "plan"));
    if (planned.hash !== hash) {
      throw new ToolError(
        `Plan ${hash} is stale: the changes would now be different. Plan again, and review the new changes.`,
      );
    }
    const lines = changeLines(planned.changes);
    const agreed = await confirm(`${client} wants to change the configuration:\n${lines.slice(0, 30).join("\n")}`);
    if (agreed === false) throw new ToolError("The person did not confirm the changes. Nothing was changed.");
    const reason = textOf(input, "reason", 1_000);
    const made = await api({
      ...callOf(request, hash),
      reason: `MCP client ${JSON.stringify(client)}${reason === undefined ? "" : `: ${reason}`}`,
    });
    return [
      `Applied plan ${hash} as revision ${made.revision}. ${consoleLink(baseUrl, "history", String(made.revision))}`,
      ...changeLines(made.changes),
      `To undo it, call plan_rollback with revision ${made.revision - 1}.`,
    ].join("\n");

    function sent(): PlannedRequest {
      const revision = countOf(input, "revision", maxRevision);
      if (revision !== undefined) return { revision };
      if (input["document"] !== undefined) return { document: documentOf(input) };
      throw new ToolError(
        `Plan ${hash} is unknown or expired. Plan again, or send the planned document or revision with the hash.`,
      );
    }
  },
};

/** @param as "plan" for a dry run, or the hash of the only changes that may be made */
function callOf(request: PlannedRequest, as: string): ApiCall {
  const shared = { method: "POST", withRightsOfKey: true } as const;
  if ("revision" in request) {
    const query = as === "plan" ? "dry_run=true" : `plan=${as}`;
    return { ...shared, path: `${encodePath`/revisions/${request.revision}/rollback`}?${query}` };
  }
  return { ...shared, path: as === "plan" ? "/plan" : `/apply?plan=${as}`, body: request.document };
}
