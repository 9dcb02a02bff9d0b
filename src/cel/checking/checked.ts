/** The checker's results about the nodes of a tree, by node id. */
import type { Native, Overload } from "./function-declarations.ts";
import type { Variable } from "./environment.ts";
import type { Tree } from "../syntax/tree.ts";
import type { Type } from "./cel-types.ts";

export interface ResolvedCall {
  readonly name: string;
  /** Overloads that fit the known argument types. The evaluation selects one of them. */
  readonly overloads: readonly Overload[];
  /** The target is part of the function's name, as in `base64.encode(x)`. */
  readonly isQualified: boolean;
  readonly prepared: Native | undefined;
}

export interface CheckedTree {
  readonly tree: Tree;
  readonly types: readonly Type[];
  /** For names, and for selections that form a dotted name. */
  readonly variables: ReadonlyMap<number, Variable>;
  readonly calls: ReadonlyMap<number, ResolvedCall>;
}
