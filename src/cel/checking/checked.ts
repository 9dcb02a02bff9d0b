/** What the checker found out about the nodes of a tree, each under its id. */
import type { Native, Overload } from "./declarations.ts";
import type { Variable } from "./environment.ts";
import type { Tree } from "../syntax/tree.ts";
import type { Type } from "./types.ts";

export interface ResolvedCall {
  readonly name: string;
  /** Those that fit what is known of the arguments; which of them it is shows when it is evaluated. */
  readonly overloads: readonly Overload[];
  /** The target is part of the function's name, as in `base64.encode(x)`. */
  readonly isQualified: boolean;
  readonly prepared: Native | undefined;
}

export interface CheckedTree {
  readonly tree: Tree;
  readonly types: readonly Type[];
  /** Of names, and of selections that are names with dots. */
  readonly variables: ReadonlyMap<number, Variable>;
  readonly calls: ReadonlyMap<number, ResolvedCall>;
}
