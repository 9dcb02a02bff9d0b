/** Finds variables that an expression mentions by an older name. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { pathOf } from "../../cel/syntax/tree.ts";
import { nodesOf } from "./policy-doubt.ts";

/** In the order of the source; UTF-16 offsets. */
export function findOlderNames({
  tree: { root },
  variables,
}: CheckedTree): { readonly from: number; readonly to: number; readonly name: string }[] {
  return Array.from(nodesOf(root)).flatMap((node) => {
    const variable = variables.get(node.id);
    if (!variable) return [];
    const path = pathOf(node.kind === "select" ? { ...node, isTest: false } : node)?.path;
    if (path === undefined || path === variable.name) return [];
    // In `has(a.B)`, the name is between the brackets.
    const from = node.kind === "select" && node.isTest ? node.operand.from : node.from;
    return [{ from, to: from + path.length, name: variable.name }];
  });
}
