/** JSON in a policy whose texts may contain `${…}`: values of variables and of log entries. */
import { Failure } from "../../cel/values/failure.ts";
import type { Result } from "../../cel/values/run.ts";
import type { Value } from "../../cel/values/values.ts";
import type { ActionScope } from "./action.ts";
import type { PolicyContext } from "./context.ts";

/** Maximum nesting of lists and maps. */
const maxDepth = 10;
const maxTextBytes = 4096;

export type Structure = (context: PolicyContext) => Result;

/** @param at path below `config`, for errors */
export function compileStructure(given: unknown, at: string, scope: ActionScope, depth = 1): Structure {
  if (typeof given === "string") {
    if (Buffer.byteLength(given) > maxTextBytes) {
      scope.wrong(at, `must be at most ${maxTextBytes} bytes`, "policy_text_long");
    }
    const template = scope.template(given, at);
    return (context) => template.value(context);
  }
  if (typeof given !== "object" || given === null) {
    const value = typeof given === "number" && Number.isSafeInteger(given) ? BigInt(given) : (given as Value);
    return () => value;
  }
  if (depth > maxDepth) {
    scope.wrong(at, `must not be nested deeper than ${maxDepth}`, "policy_vars_nested");
    return () => null;
  }
  if (Array.isArray(given)) {
    const items = given.map((item, index) => compileStructure(item, `${at}[${index}]`, scope, depth + 1));
    return (context) => {
      const values = items.map((item) => item(context));
      return values.find((value) => value instanceof Failure) ?? (values as Value[]);
    };
  }
  const entries = Object.entries(given).map(
    ([name, value]) => [name, compileStructure(value, `${at}.${name.slice(0, 64)}`, scope, depth + 1)] as const,
  );
  return (context) => {
    const made: Record<string, Value> = Object.create(null) as Record<string, Value>;
    for (const [name, value] of entries) {
      const result = value(context);
      if (result instanceof Failure) return result;
      made[name] = result;
    }
    return made;
  };
}
