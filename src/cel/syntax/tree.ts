/** What a source says, as a tree. */
import type { Value } from "../values/values.ts";

interface Part {
  /** Numbers the nodes of one tree from 0; what is found out about a node stands under it. */
  readonly id: number;
  /** Where a message about it points: of `a + b` the operator. UTF-16 offsets, as the others. */
  readonly at: number;
  /** Its text is `source.slice(from, to)`. */
  readonly from: number;
  readonly to: number;
  /** Nodes on the longest way down, itself included. */
  readonly depth: number;
}

export type Literal = Part & { readonly kind: "literal"; readonly value: Value };
/** `a`, or `.a`, which is looked for outside the container only. */
export type Name = Part & { readonly kind: "name"; readonly name: string; readonly isRooted: boolean };
/** `a.b`, and with `isTest` `has(a.b)`. */
export type Select = Part & {
  readonly kind: "select";
  readonly operand: Node;
  readonly field: string;
  readonly isTest: boolean;
};
/** Operators are calls as well: of `_+_`, `!_`, `_[_]`, `_?_:_`, `@in`. */
export type Call = Part & {
  readonly kind: "call";
  readonly name: string;
  readonly target: Node | undefined;
  readonly args: readonly Node[];
};
/** `a && b && c` is one node, so that long chains are not deep. */
export type Logic = Part & {
  readonly kind: "logic";
  readonly operator: "&&" | "||";
  readonly operands: readonly Node[];
};
export type List = Part & { readonly kind: "list"; readonly items: readonly Node[] };
export type Entries = Part & { readonly kind: "map"; readonly entries: readonly (readonly [key: Node, value: Node])[] };
export type LoopMacro = "all" | "exists" | "exists_one" | "filter" | "map" | "sortBy";
/** `range.macro(variable, …)`. Of `map` the condition may be there; of `filter` and the questions there is no result. */
export type Loop = Part & {
  readonly kind: "loop";
  readonly macro: LoopMacro;
  readonly range: Node;
  readonly variable: string;
  readonly condition: Node | undefined;
  readonly result: Node | undefined;
};

export type Node = Literal | Name | Select | Call | Logic | List | Entries | Loop;

export interface Tree {
  readonly source: string;
  readonly root: Node;
  readonly nodes: number;
}

/** `a.b.c` of a chain of names, and whether it began with a dot; undefined for anything else. */
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
