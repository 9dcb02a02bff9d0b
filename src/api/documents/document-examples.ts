/** An example document and its plan, for the description of the API. */
import type { JsonObject } from "../../lib/json.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId } from "../operation/example-ids.ts";
import { summaryOf } from "../history/change-set.ts";
import { examplePlanHash } from "../history/history-examples.ts";
import { defaultDocument } from "./document.ts";
import type { Plan } from "./document-plan.ts";

const rule = { ip_policy_id: "office", cidr: "192.0.2.0/24", action: "allow" };

export const exampleDocument: JsonObject = {
  document: defaultDocument,
  prune: false,
  objects: {
    ip_policy: { office: { description: "The office" } },
    ip_policy_rule: { "office-network": rule },
  },
};

/** Returns the changes of `exampleDocument`. Before it is `applied`, new objects have no id. */
export function examplePlan(applied: boolean): Plan {
  const created = (kind: string, path: string, name: string, fields: Readonly<Record<string, unknown>>) => ({
    action: "create" as const,
    kind,
    name,
    id: applied ? exampleId(kind) : "",
    uri: applied ? `${exampleBaseUrl}${path}/${exampleId(kind)}` : "",
    adopted: false,
    fields: Object.entries(fields).map(([field, after]) => ({ path: field, before: null, after })),
  });
  const changes = [
    created("ip_policy", "/ip_policies", "office", { description: "The office" }),
    created("ip_policy_rule", "/ip_policy_rules", "office-network", {
      ...rule,
      ...(applied && { ip_policy_id: exampleId("ip_policy") }),
    }),
  ];
  const revision = applied ? 43 : 42;
  return {
    document: defaultDocument,
    applied,
    revision,
    hash: examplePlanHash,
    summary: summaryOf(changes),
    changes,
    warnings: [],
  };
}
