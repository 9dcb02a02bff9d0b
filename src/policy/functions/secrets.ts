/** `secrets.get(vault, name)`. */
import { define, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/declarations.ts";
import { types } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { PolicyContext } from "../language/context.ts";

const { string } = types;

/** By the names that they have now: nothing of it is kept, so that a new value counts at once. */
function secret(vault: string, name: string, run: Run): Result {
  const found = (run.activation as PolicyContext).secret(vault, name);
  if (found === undefined) return new Failure("the vault or the secret does not exist");
  return run.makeText(found.length) ?? found;
}

export const secretFunctions: readonly FunctionDeclaration[] = [
  define(secretGet(), overload("secrets_get", [string, string], string, secret, { isVolatile: true })),
];

/** The name of the function. */
export function secretGet(): string {
  return "secrets.get";
}
