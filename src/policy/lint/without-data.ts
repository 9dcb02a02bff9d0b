/** Variables for which this server has no data, or may have none. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { withoutData } from "../variables/declare.ts";
import { nodesOf } from "./policy-doubt.ts";
import type { Doubt } from "./policy-doubt.ts";

/** Returns each variable once. */
export function readsWithoutData(checked: CheckedTree): Doubt[] {
  const reported = new Set<string>();
  return Array.from(nodesOf(checked.tree.root)).flatMap((node) => {
    const variable = checked.variables.get(node.id);
    if (!variable || reported.has(variable.name)) return [];
    const why = withoutData(variable);
    if (why === undefined) return [];
    reported.add(variable.name);
    const [message, hint] =
      why === "always"
        ? [
            `"${variable.name}" is always empty: this server has no data for it`,
            "so the condition is true for all traffic or for none",
          ]
        : [
            `"${variable.name}" is empty unless the server has the setting ${why.setting} with data for it`,
            "ask the operator",
          ];
    return [{ offset: node.from, message, hint, ...(why !== "always" && { datum: why.datum }) }];
  });
}
