/** `secrets.get(vault, name)`. */
import { define, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/declarations.ts";
import { types } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { PolicyContext } from "../language/context.ts";

const { string } = types;

/** Reads the secret by its present names, without a cache, so that a new value takes effect immediately. */
function secret(vault: string, name: string, run: Run): Result {
  const found = (run.activation as PolicyContext).secret(vault, name);
  if (found === undefined) return new Failure("the vault or the secret does not exist");
  return run.makeText(found.length) ?? found;
}

export const secretFunctions: readonly FunctionDeclaration[] = [
  define(secretGet(), overload("secrets_get", [string, string], string, secret, { isVolatile: true })),
];

/** Name of the function. */
export function secretGet(): string {
  return "secrets.get";
}
