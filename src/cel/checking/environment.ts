/** What expressions of one kind may mention: variables, functions, limits. A room declares its own once. */
import type { FunctionDeclaration } from "./declarations.ts";
import { defaultLimits } from "../values/limits.ts";
import type { Limits } from "../values/limits.ts";
import { types, typeOf } from "./types.ts";
import type { Type } from "./types.ts";
import { TypeValue } from "../values/values.ts";
import type { Value } from "../values/values.ts";

/** A name, which may have dots in it: `conn.client_ip`, `conn.client_ip.categories`. The longest that is declared counts. */
export interface VariableDeclaration {
  readonly type: Type;
  /**
   * Reads it from what `evaluate` was given, each time it is come to: only expressions that mention it pay for it.
   * undefined when there is none: `has()` tells, and the value is the type's zero. Throws nothing.
   */
  readonly read: (activation: never) => Value | undefined;
  /** Of a map: what `read` would have under one key, where that is found with less work. Throws nothing. */
  readonly item?: (activation: never, key: string) => Value | undefined;
  /**
   * Steps that reading it takes now, asked before each read, where that grows with what is read. Throws nothing, and
   * says 0 for what was read before and kept.
   */
  readonly cost?: (activation: never) => number;
}

export interface EnvironmentOptions {
  readonly variables: Readonly<Record<string, VariableDeclaration>>;
  /** In order; an overload replaces an earlier one with the same id. */
  readonly functions: readonly FunctionDeclaration[];
  readonly limits?: Partial<Limits>;
  /** Names are looked for below it first, as in `a.b`. */
  readonly container?: string;
  /**
   * `quiet`: null in a comparison or call, other than `==`, `!=` and `in` a list, makes it false, and a field of null
   * and an item or key that is not there are null. Otherwise these fail.
   */
  readonly nulls?: "quiet" | "fail";
  /** Whether `==` and the others compare int with double, which CEL refuses where it knows the types. */
  readonly mixesNumbers?: boolean;
  /** The declared name of a variable that is mentioned by an older one; asked only of names that are not declared. */
  readonly presentName?: (older: string) => string | undefined;
  /** Where a name is known that is not known here, as the end of "it is there …". */
  readonly elsewhere?: (name: string) => string | undefined;
}

export interface Variable {
  readonly name: string;
  readonly type: Type;
  readonly read: ((activation: unknown) => Value | undefined) | undefined;
  readonly item: ((activation: unknown, key: string) => Value | undefined) | undefined;
  readonly cost: ((activation: unknown) => number) | undefined;
  /** Of a constant, such as `int`. */
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

/** The variable of that name, present or older. */
export function variableNamed(environment: Environment, name: string, isRooted: boolean): Variable | undefined {
  const { variables, presentName } = environment;
  const found = lookUp(variables, name, environment, isRooted);
  if (found || !presentName) return found;
  const present = presentName(name);
  return present === undefined ? undefined : variables.get(present);
}

/** Looks for a name from the container outwards. */
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
