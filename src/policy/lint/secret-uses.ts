/** Which secrets an expression reads, and whether it gives away what it has read. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import type { Call, Node } from "../../cel/syntax/tree.ts";
import type { NamedSecret } from "../../schema/fields.ts";
import { secretGet } from "../functions/secrets.ts";
import { nodesOf } from "./doubt.ts";

export function secretUses(checked: CheckedTree): NamedSecret[] {
  return Array.from(nodesOf(checked.tree.root))
    .filter((node): node is Call => checked.calls.get(node.id)?.name === secretGet())
    .map(({ args: [vault, name] }) => ({ vault: textOf(vault), name: textOf(name) }));
}

/**
 * Whether its value tells of a secret, or of a variable that does. True or false does not: that is what secrets are
 * compared for.
 *
 * @param tainted names of variables of `set-vars`
 */
export function tellsSecret(checked: CheckedTree, tainted: ReadonlySet<string>): boolean {
  if (checked.types[checked.tree.root.id]?.is === "bool") return false;
  if (secretUses(checked).length > 0) return true;
  return tainted.size > 0 && Array.from(nodesOf(checked.tree.root)).some((node) => tainted.has(variableOf(node) ?? ""));

  /** `a` of `vars.a` and `vars['a']`. */
  function variableOf(node: Node): string | undefined {
    const [operand, field] =
      node.kind === "select"
        ? [node.operand, node.field]
        : node.kind === "call" && node.name === "_[_]"
          ? [node.args[0], textOf(node.args[1])]
          : [];
    return operand && checked.variables.get(operand.id)?.name === "vars" ? field : undefined;
  }
}

function textOf(node: Node | undefined): string | undefined {
  return node?.kind === "literal" && typeof node.value === "string" ? node.value : undefined;
}
