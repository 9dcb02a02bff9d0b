/** The tree of a parsed source. */
import type { Value } from "../values/cel-values.ts";

interface NodePart {
  /** Nodes are numbered from 0. Results about a node are stored by this number. */
  readonly id: number;
  /** Position for messages, a UTF-16 offset like the others: for `a + b`, the operator. */
  readonly at: number;
  /** The node's text is `source.slice(from, to)`. */
  readonly from: number;
  readonly to: number;
  /** Number of nodes on the longest path down, including this one. */
  readonly depth: number;
}

export type Literal = NodePart & { readonly kind: "literal"; readonly value: Value };
/** `a`, or `.a`, which is looked up only outside the container. */
export type Name = NodePart & { readonly kind: "name"; readonly name: string; readonly isRooted: boolean };
/** `a.b`, or with `isTest`, `has(a.b)`. */
export type Select = NodePart & {
  readonly kind: "select";
  readonly operand: Node;
  readonly field: string;
  readonly isTest: boolean;
};
/** Operators are calls as well: `_+_`, `!_`, `_[_]`, `_?_:_`, `@in`. */
export type CallNode = NodePart & {
  readonly kind: "call";
  readonly name: string;
  readonly target: Node | undefined;
  readonly args: readonly Node[];
};
/** `a && b && c` is one node, so that long chains are not deep. */
export type Logic = NodePart & {
  readonly kind: "logic";
  readonly operator: "&&" | "||";
  readonly operands: readonly Node[];
};
export type ListNode = NodePart & { readonly kind: "list"; readonly items: readonly Node[] };
export type Entries = NodePart & {
  readonly kind: "map";
  readonly entries: readonly (readonly [key: Node, value: Node])[];
};
export type LoopMacro = "all" | "exists" | "exists_one" | "filter" | "map" | "sortBy";
/**
 * `range.macro(variable, …)`. For `map` the condition is optional. `filter` and the predicates have no result
 * expression.
 */
export type Loop = NodePart & {
  readonly kind: "loop";
  readonly macro: LoopMacro;
  readonly range: Node;
  readonly variable: string;
  readonly condition: Node | undefined;
  readonly result: Node | undefined;
};

export type Node = Literal | Name | Select | CallNode | Logic | ListNode | Entries | Loop;

export interface Tree {
  readonly source: string;
  readonly root: Node;
  readonly nodes: number;
}

/** Returns the path of a chain of names `a.b.c`, and whether it started with a dot; undefined for anything else. */
export function pathOf(node: Node): { readonly path: string; readonly isRooted: boolean } | undefined {
  if (node.kind === "name") return { path: node.name, isRooted: node.isRooted };
  if (node.kind !== "select" || node.isTest) return undefined;
  const before = pathOf(node.operand);
  return before && { path: `${before.path}.${node.field}`, isRooted: before.isRooted };
}

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "name":
      return [];
    case "select":
      return [node.operand];
    case "call":
      return node.target ? [node.target, ...node.args] : node.args;
    case "logic":
      return node.operands;
    case "list":
      return node.items;
    case "map":
      return node.entries.flat();
    case "loop":
      return [node.range, node.condition, node.result].filter((child) => child !== undefined);
  }
}
