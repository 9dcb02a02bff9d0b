/** JSON in a policy whose texts may contain `${…}`: values of variables and of log entries. */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { ActionScope } from "./action.ts";
import type { PolicyContext } from "./policy-context.ts";

/** Maximum nesting of lists and maps. */
const maxDepth = 10;
const maxTextBytes = 4096;

export type Structure = (context: PolicyContext) => Result;

/** @param at path below `config`, for errors */
export function compileStructure(structure: unknown, at: string, scope: ActionScope, depth = 1): Structure {
  if (typeof structure === "string") {
    if (Buffer.byteLength(structure) > maxTextBytes) {
      scope.wrong(at, `must be at most ${maxTextBytes} bytes`, "policy_text_long");
    }
    const template = scope.template(structure, at);
    return (context) => template.value(context);
  }
  if (typeof structure !== "object" || structure === null) {
    const value =
      typeof structure === "number" && Number.isSafeInteger(structure) ? BigInt(structure) : (structure as Value);
    return () => value;
  }
  if (depth > maxDepth) {
    scope.wrong(at, `must not be nested deeper than ${maxDepth}`, "policy_vars_nested");
    return () => null;
  }
  if (Array.isArray(structure)) {
    const items = structure.map((item, index) => compileStructure(item, `${at}[${index}]`, scope, depth + 1));
    return (context) => {
      const values = items.map((item) => item(context));
      return values.find((value) => value instanceof CelFailure) ?? (values as Value[]);
    };
  }
  const entries = Object.entries(structure).map(
    ([name, value]) => [name, compileStructure(value, `${at}.${name.slice(0, 64)}`, scope, depth + 1)] as const,
  );
  return (context) => {
    const made: Record<string, Value> = Object.create(null) as Record<string, Value>;
    for (const [name, value] of entries) {
      const result = value(context);
      if (result instanceof CelFailure) return result;
      made[name] = result;
    }
    return made;
  };
}
