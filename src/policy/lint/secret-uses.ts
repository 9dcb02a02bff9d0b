/** Finds the secrets that an expression reads, and whether its value reveals them. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { childrenOf } from "../../cel/syntax/tree.ts";
import type { CallNode, Loop, Node } from "../../cel/syntax/tree.ts";
import type { NamedSecret } from "../../schema/fields.ts";
import { secretGet } from "../functions/secret-functions.ts";
import { nodesOf } from "./policy-doubt.ts";
import type { Taint } from "./taint.ts";

export function secretUses(checked: CheckedTree): NamedSecret[] {
  return Array.from(nodesOf(checked.tree.root))
    .filter((node): node is CallNode => checked.calls.get(node.id)?.name === secretGet())
    .map(({ args: [vault, name] }) => ({ vault: textOf(vault) as string, name: textOf(name) as string }));
}

/** A provider's tokens for a visitor, which rules after a login can read. */
const tokens: ReadonlySet<string> = new Set(["access_token", "refresh_token", "identity_token"]);
const ofLogin = /^actions\.ngrok\.(?:oauth|oidc)$/;

/** Variables whose parts are distinguished by keys, and the functions that read one part. */
const keyed: ReadonlySet<string> = new Set(["vars", "req.headers", "res.headers"]);
const readers: ReadonlyMap<string, string> = new Map([
  ["getReqHeader", "req.headers"],
  ["getResHeader", "res.headers"],
]);
/** Functions that read a part of the message by another name. */
const otherUses: ReadonlyMap<string, string> = new Map([
  ["getReqCookie", "req.headers.cookie"],
  ["getResCookie", "res.headers.set-cookie"],
  ["getQueryParam", "req.url"],
]);

/**
 * Whether the expression's value reveals a secret, a visitor's token, or a value derived from one. A boolean does not:
 * secrets exist to be compared.
 */
export function tellsSecret(checked: CheckedTree, taint: Taint): boolean {
  const { root } = checked.tree;
  return checked.types[root.id]?.is !== "bool" && findRevealingParts(checked, taint).has(root.id);
}

/** Returns ids of the parts that reveal a secret, of any type. */
export function findRevealingParts(checked: CheckedTree, taint: Taint): ReadonlySet<number> {
  const reader = new SecretReader(checked, taint);
  reader.tells(checked.tree.root);
  return reader.telling;
}

class SecretReader {
  readonly telling = new Set<number>();
  readonly #checked: CheckedTree;
  readonly #taint: Taint;
  /** Variables of enclosing loops, and whether their values reveal a secret. */
  readonly #loops: { readonly name: string; readonly tells: boolean }[] = [];

  constructor(checked: CheckedTree, taint: Taint) {
    this.#checked = checked;
    this.#taint = taint;
  }

  tells(node: Node): boolean {
    const tells = this.#ofNode(node);
    if (tells) this.telling.add(node.id);
    return tells;
  }

  #ofNode(node: Node): boolean {
    const name = this.#checked.variables.get(node.id)?.name;
    if (name !== undefined) return this.#taint.hasAny(name);
    const part = this.#partOf(node);
    if (part !== undefined) {
      // The whole expression is also a part.
      for (const child of childrenOf(node)) this.tells(child);
      return this.#taint.has(part);
    }
    if (node.kind === "name") return this.#loops.findLast((loop) => loop.name === node.name)?.tells ?? false;
    if (node.kind === "loop") return this.#ofLoop(node);
    if (node.kind === "call" && this.#ofCall(node)) return true;
    if (node.kind === "select" && this.#isToken(node)) return true;
    // Visits all children, without stopping early, because each part needs its own result.
    return childrenOf(node).filter((child) => this.tells(child)).length > 0;
  }

  #ofLoop({ range, variable, condition, result }: Loop): boolean {
    const tells = this.tells(range);
    this.#loops.push({ name: variable, tells });
    const inside = [condition, result].filter((part) => part !== undefined && this.tells(part));
    this.#loops.pop();
    return tells || inside.length > 0;
  }

  #ofCall(node: CallNode): boolean {
    const called = this.#checked.calls.get(node.id)?.name;
    if (called === secretGet()) return true;
    const other = otherUses.get(called ?? "");
    if (other !== undefined) return this.#taint.hasAny(other);
    const whole = readers.get(called ?? "");
    return whole !== undefined && this.#taint.hasAny(whole);
  }

  #isToken(node: Node): boolean {
    if (node.kind !== "select" || !tokens.has(node.field)) return false;
    return ofLogin.test(this.#checked.variables.get(node.operand.id)?.name ?? "");
  }

  /**
   * Returns `vars.a` for `vars.a` and `vars['a']`, and `req.headers.x` for `getReqHeader('X')`; undefined for anything
   * else.
   */
  #partOf(node: Node): string | undefined {
    if (node.kind === "select") return this.#keyOf(node.operand, node.field);
    if (node.kind !== "call") return undefined;
    const [first, second] = node.args;
    if (node.name === "_[_]") return first && this.#keyOf(first, textOf(second));
    const whole = readers.get(this.#checked.calls.get(node.id)?.name ?? "");
    const key = textOf(first);
    return whole === undefined || key === undefined ? undefined : `${whole}.${key.toLowerCase()}`;
  }

  #keyOf(operand: Node, key: string | undefined): string | undefined {
    const name = this.#checked.variables.get(operand.id)?.name;
    return key !== undefined && name !== undefined && keyed.has(name) ? `${name}.${key}` : undefined;
  }
}

function textOf(node: Node | undefined): string | undefined {
  return node?.kind === "literal" && typeof node.value === "string" ? node.value : undefined;
}
