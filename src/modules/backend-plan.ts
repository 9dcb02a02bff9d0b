import type { Scope } from "./module.ts";
import type { UpstreamPlan } from "./upstream-plan.ts";

/** What a backend does, as data. Throws when it does not exist in the account: the route then fails closed. */
export function planOf(scope: Scope, id: string): UpstreamPlan {
  const group = scope.get("tunnel_group_backend", id);
  if (!group) throw new Error(`find backend "${id}": it does not exist`);
  return {
    kind: "tunnel_group",
    id,
    accountId: scope.accountId,
    labels: group.doc["labels"] as Record<string, string>,
  };
}
