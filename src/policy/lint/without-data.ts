/** Variables for which this server has no data. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { isWithoutData } from "../variables/connection.ts";
import { nodesOf } from "./doubt.ts";
import type { Doubt } from "./doubt.ts";

/** Returns each variable once. */
export function readsWithoutData(checked: CheckedTree): Doubt[] {
  const told = new Set<string>();
  return Array.from(nodesOf(checked.tree.root)).flatMap((node) => {
    const variable = checked.variables.get(node.id);
    if (!variable || told.has(variable.name) || !isWithoutData(variable)) return [];
    told.add(variable.name);
    const message = `"${variable.name}" is always empty: this server has no data for it`;
    return [{ offset: node.from, message, hint: "so the condition is true for all traffic or for none" }];
  });
}
