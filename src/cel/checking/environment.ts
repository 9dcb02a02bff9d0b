/**
 * What expressions of one kind may use: variables, functions, limits. Each user of the language declares its
 * environment once.
 */
import type { FunctionDeclaration } from "./function-declarations.ts";
import { defaultLimits } from "../values/cel-limits.ts";
import type { Limits } from "../values/cel-limits.ts";
import { types, typeOf } from "./cel-types.ts";
import type { Type } from "./cel-types.ts";
import { TypeValue } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

/** A name, possibly with dots: `conn.client_ip`, `conn.client_ip.categories`. The longest declared name wins. */
export interface VariableDeclaration {
  readonly type: Type;
  /**
   * Reads the variable from the activation each time it is reached, so that only expressions that use it pay for it.
   * undefined means absent: `has()` is false, and the value is the type's zero. Does not throw.
   */
  readonly read: (activation: never) => Value | undefined;
  /** For a map: reads a single key, if that is cheaper than `read`. Does not throw. */
  readonly item?: (activation: never, key: string) => Value | undefined;
  /**
   * Steps for the next read, if they depend on its size. Does not throw. Returns 0 for values that are already cached.
   */
  readonly cost?: (activation: never) => number;
}

export interface EnvironmentOptions {
  readonly variables: Readonly<Record<string, VariableDeclaration>>;
  /** In order. An overload replaces an earlier one with the same id. */
  readonly functions: readonly FunctionDeclaration[];
  readonly limits?: Partial<Limits>;
  /** Names are looked up below it first, as in `a.b`. */
  readonly container?: string;
  /**
   * `quiet`: null in a comparison or call other than `==`, `!=` and `in` a list makes the result false, and a field of
   * null and an absent item or key are null. Otherwise these fail.
   */
  readonly nulls?: "quiet" | "fail";
  /** Whether comparisons may mix int and double, which CEL refuses where it knows the types. */
  readonly mixesNumbers?: boolean;
  /** Maps an older variable name to its present name. Called only for undeclared names. */
  readonly presentName?: (older: string) => string | undefined;
  /** Says where an unknown name is available, as the end of "it is available …". */
  readonly elsewhere?: (name: string) => string | undefined;
}

export interface Variable {
  readonly name: string;
  readonly type: Type;
  readonly read: ((activation: unknown) => Value | undefined) | undefined;
  readonly item: ((activation: unknown, key: string) => Value | undefined) | undefined;
  readonly cost: ((activation: unknown) => number) | undefined;
  /** Value of a constant, such as `int`. */
  readonly value: Value | undefined;
}

export interface Environment {
  readonly variables: ReadonlyMap<string, Variable>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly limits: Limits;
  readonly container: string;
  readonly quietNulls: boolean;
  readonly mixesNumbers: boolean;
  readonly presentName: ((older: string) => string | undefined) | undefined;
  readonly elsewhere: ((name: string) => string | undefined) | undefined;
}

export function defineEnvironment(options: EnvironmentOptions): Environment {
  const variables = new Map<string, Variable>(
    typeNames.map(([name, of]) => {
      const constant = {
        name,
        type: typeOf(of),
        read: undefined,
        item: undefined,
        cost: undefined,
        value: new TypeValue(name),
      };
      return [name, constant] as const;
    }),
  );
  for (const [name, { type, read, item, cost }] of Object.entries(options.variables)) {
    const reading = { read, item, cost } as Pick<Variable, "read" | "item" | "cost">;
    variables.set(name, { name, type, ...reading, value: undefined });
  }
  const functions = new Map<string, FunctionDeclaration>();
  for (const { name, overloads } of options.functions) {
    const known = functions.get(name)?.overloads ?? [];
    const given = new Set(overloads.map(({ id }) => id));
    functions.set(name, { name, overloads: [...known.filter(({ id }) => !given.has(id)), ...overloads] });
  }
  return {
    variables,
    functions,
    limits: { ...defaultLimits, ...options.limits },
    container: options.container ?? "",
    quietNulls: options.nulls === "quiet",
    mixesNumbers: options.mixesNumbers ?? false,
    presentName: options.presentName,
    elsewhere: options.elsewhere,
  };
}

const typeNames: readonly (readonly [string, Type])[] = [
  ["bool", types.bool],
  ["int", types.int],
  ["uint", types.uint],
  ["double", types.double],
  ["string", types.string],
  ["bytes", types.bytes],
  ["list", { is: "list", of: types.dyn }],
  ["map", { is: "map", key: types.dyn, of: types.dyn }],
  ["null_type", types.null],
  ["type", { is: "opaque", name: "type", of: [] }],
  ["google.protobuf.Timestamp", types.timestamp],
  ["google.protobuf.Duration", types.duration],
];

/** Returns the variable of that name, present or older. */
export function variableNamed(environment: Environment, name: string, isRooted: boolean): Variable | undefined {
  const { variables, presentName } = environment;
  const found = lookUp(variables, name, environment, isRooted);
  if (found || !presentName) return found;
  const present = presentName(name);
  return present === undefined ? undefined : variables.get(present);
}

/** Looks a name up from the container outwards. */
export function lookUp<T>(
  all: ReadonlyMap<string, T>,
  name: string,
  { container }: Environment,
  isRooted = false,
): T | undefined {
  for (
    let prefix = isRooted ? "" : container;
    prefix !== "";
    prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf(".")))
  ) {
    const found = all.get(`${prefix}.${name}`);
    if (found !== undefined) return found;
  }
  return all.get(name);
}
