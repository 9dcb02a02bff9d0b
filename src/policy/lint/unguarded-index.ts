/**
 * Finds accesses to items that may be missing. The expression then fails, and the rule does not match. So a rule that
 * denies requests would let them pass.
 */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { childrenOf } from "../../cel/syntax/tree.ts";
import type { CallNode, Node } from "../../cel/syntax/tree.ts";
import { nodesOf, subjectOf } from "./policy-doubt.ts";
import type { Doubt } from "./policy-doubt.ts";

const asking: ReadonlySet<string> = new Set([
  "@in",
  "@has",
  "size",
  "hasReqHeader",
  "hasResHeader",
  "hasQueryParam",
  "hasReqCookie",
  "hasResCookie",
]);

export interface Unguarded {
  readonly doubts: readonly Doubt[];
  /** Checks in the expression, which later expressions of the rule may rely on. */
  readonly asked: ReadonlySet<string>;
}

/** @param asked checks in the previous expressions, which were true */
export function findUnguardedIndexes(checked: CheckedTree, asked: ReadonlySet<string>): Unguarded {
  const { source, root } = checked.tree;
  const doubts: Doubt[] = [];
  visit(root, asked);
  return { doubts, asked: findChecks(root, checked) };

  function visit(node: Node, known: ReadonlySet<string>): void {
    if (node.kind === "logic" || (node.kind === "call" && node.name === "_?_:_")) {
      let sofar = known;
      for (const child of childrenOf(node)) {
        visit(child, sofar);
        sofar = new Set([...sofar, ...findChecks(child, checked)]);
      }
      return;
    }
    if (node.kind === "call" && node.name === "_[_]" && mayFail(node)) {
      if (!Array.from(nodesOf(node), (one) => subjectOf(one, source)).some((one) => known.has(one))) doubt(node);
      // One warning is enough for all of `a['b'][0]`.
      return;
    }
    for (const child of childrenOf(node)) visit(child, known);
  }

  function mayFail({ args, id }: CallNode): boolean {
    const [operand] = args;
    if (!operand || checked.variables.has(id)) return false;
    const { is } = checked.types[operand.id] ?? {};
    return is === "map" || is === "list" || is === "dyn";
  }

  function doubt(node: CallNode): void {
    const text = source.slice(node.from, node.to).slice(0, 64);
    doubts.push({
      offset: node.from,
      message: `\`${text}\` fails if the key is missing; the rule then does not match, and traffic passes`,
      hint: "check first, as in `'x' in req.headers && …`, or write `'value' in getReqHeader('x')`",
    });
  }
}

/**
 * Returns everything that is checked anywhere in the expression: the key of `'x' in m`, or the receiver of other
 * checks.
 */
function findChecks(root: Node, { tree: { source } }: CheckedTree): ReadonlySet<string> {
  const found = new Set<string>();
  for (const node of nodesOf(root)) {
    if (node.kind === "select" && node.isTest) found.add(`${subjectOf(node.operand, source)}.${node.field}`);
    if (node.kind !== "call" || !asking.has(node.name)) continue;
    const about = node.target ?? (node.name === "@has" ? node.args[1] : node.args[0]);
    if (about) found.add(subjectOf(about, source));
  }
  return found;
}
