/** A valid part of an expression that is probably not intended. */
import { childrenOf } from "../../cel/syntax/tree.ts";
import type { Node } from "../../cel/syntax/tree.ts";

export interface Doubt {
  /** UTF-16 code units before it, in the expression. */
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
  /** Name of the data whose absence at a server the doubt assumes. */
  readonly datum?: string;
}

/** Yields the node and all nodes below it, from the top. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

/** Returns a text that is equal for two expressions about the same value. Blanks, quotes and case do not matter. */
export function subjectOf(node: Node, source: string): string {
  if (node.kind === "literal" && typeof node.value === "string") return `'${node.value.toLowerCase()}'`;
  return source.slice(node.from, node.to).replaceAll(/\s/g, "");
}
