/** Something in an expression that is right by the language, and probably not what was meant. */
import { childrenOf } from "../../cel/syntax/tree.ts";
import type { Node } from "../../cel/syntax/tree.ts";

export interface Doubt {
  /** UTF-16 code units before it, in the expression. */
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

/** The node and everything below it, from above. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

/** What two parts of expressions have in common when they are about the same: blanks, quotes and case do not count. */
export function subjectOf(node: Node, source: string): string {
  if (node.kind === "literal" && typeof node.value === "string") return `'${node.value.toLowerCase()}'`;
  return source.slice(node.from, node.to).replaceAll(/\s/g, "");
}
