/** How variables of policies are declared. */
import type { Variable, VariableDeclaration } from "../../cel/checking/environment.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import type { MapValue } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { PolicyContext } from "../language/policy-context.ts";

export type Variables = Readonly<Record<string, VariableDeclaration>>;

/** Returns a variable of a policy. If `read` returns undefined, the variable is the zero value of its type. */
export function declareVariable(
  type: Type,
  read: (context: PolicyContext) => Value | undefined,
  cost?: (context: PolicyContext) => number,
): VariableDeclaration {
  return { type, read, ...(cost && { cost }) };
}

/** Returns a map of lists, read as a whole or by one key. */
export function declareKeyed(
  type: Type,
  read: (context: PolicyContext) => MapValue | undefined,
  item: (context: PolicyContext, name: string) => Value | undefined,
  cost?: (context: PolicyContext) => number,
): VariableDeclaration {
  return { type, read, item, ...(cost && { cost }) };
}

const readNothing = (): undefined => undefined;

/** Returns a variable for which this server has no data. */
export function declareAbsent(type: Type): VariableDeclaration {
  return { type, read: readNothing };
}

/** Data that servers have only with a setting of the operator. */
export interface NeededData {
  readonly setting: string;
  /** A field of `Location`, or another name of `serverDataOf`. */
  readonly datum: string;
}

const neededData = new WeakMap<Reading, NeededData>();

type Reading = NonNullable<VariableDeclaration["read"]>;

/** Marks a variable as empty without this data. */
export function requireSetting(data: NeededData, declaration: VariableDeclaration): VariableDeclaration {
  if (declaration.read) neededData.set(declaration.read, data);
  return declaration;
}

/** Returns why a variable may always be empty: no server has data, or only servers with this data. */
export function withoutData({ read }: Pick<Variable, "read">): "always" | NeededData | undefined {
  if (read === readNothing) return "always";
  return read && neededData.get(read);
}
