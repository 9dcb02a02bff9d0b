/** Macros, which look like calls: `has`, and those that bind a variable. */
import type { Builder, Span } from "./builder.ts";
import { SourceFault } from "./source-fault.ts";
import type { LoopMacro, Node } from "./tree.ts";

const loops: Readonly<Record<string, { readonly macro: LoopMacro; readonly args: readonly number[] }>> = {
  all: { macro: "all", args: [2] },
  exists: { macro: "exists", args: [2] },
  exists_one: { macro: "exists_one", args: [2] },
  existsOne: { macro: "exists_one", args: [2] },
  filter: { macro: "filter", args: [2] },
  map: { macro: "map", args: [2, 3] },
  sortBy: { macro: "sortBy", args: [2] },
};

export const macroNames: readonly string[] = ["has", ...Object.keys(loops)];

export function isMacro(name: string): boolean {
  return Object.hasOwn(loops, name);
}

/**
 * Parses `range.macro(variable, …)`. Returns undefined for an ordinary call. Throws `SourceFault` for an invalid
 * variable.
 */
export function loopOf(
  builder: Builder,
  span: Span,
  name: string,
  range: Node,
  args: readonly Node[],
): Node | undefined {
  const loop = Object.hasOwn(loops, name) ? loops[name] : undefined;
  if (!loop?.args.includes(args.length)) return undefined;
  const [variable, first, second] = args;
  if (variable?.kind !== "name" || variable.isRooted) {
    throw new SourceFault(
      variable?.from ?? span.at,
      `the first argument of ${name} must be a name`,
      `write list.${name}(x, …), where x stands for each item`,
    );
  }
  const { macro } = loop;
  const hasResult = macro === "sortBy" || macro === "map";
  return builder.node(span, {
    kind: "loop",
    macro,
    range,
    variable: variable.name,
    condition: hasResult && second === undefined ? undefined : first,
    result: hasResult ? (second ?? first) : undefined,
  });
}

/** Parses `has(a.b)`, and also `has(a['b'])`, which CEL's specification does not have. */
export function hasCall(builder: Builder, span: Span, args: readonly Node[]): Node {
  const [field] = args;
  if (args.length === 1 && field?.kind === "select" && !field.isTest) {
    return builder.node(span, { ...field, kind: "select", ...span, isTest: true });
  }
  if (args.length === 1 && field?.kind === "call" && field.name === "_[_]") {
    return builder.node(span, { kind: "call", name: "@has", target: undefined, args: field.args });
  }
  throw new SourceFault(field?.from ?? span.at, "has asks for a field", "write has(a.b) or has(a['b'])");
}
