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

/** What a provider has given for a visitor, as rules after a login read it. */
const tokens: ReadonlySet<string> = new Set(["access_token", "refresh_token", "identity_token"]);
const ofLogin = /^actions\.ngrok\.(?:oauth|oidc)$/;

/**
 * Whether its value tells of a secret, of a visitor's token, or of a variable that does. True or false does not: that is what secrets are
 * compared for.
 *
 * @param tainted names of variables of `set-vars`
 */
export function tellsSecret(checked: CheckedTree, tainted: ReadonlySet<string>): boolean {
  if (checked.types[checked.tree.root.id]?.is === "bool") return false;
  if (secretUses(checked).length > 0 || Array.from(nodesOf(checked.tree.root)).some(isToken)) return true;
  return tainted.size > 0 && Array.from(nodesOf(checked.tree.root)).some((node) => tainted.has(variableOf(node) ?? ""));

  function isToken(node: Node): boolean {
    return (
      node.kind === "select" &&
      tokens.has(node.field) &&
      ofLogin.test(checked.variables.get(node.operand.id)?.name ?? "")
    );
  }

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
