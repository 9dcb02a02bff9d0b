/** `secrets.get(vault, name)`. */
import { defineFunction, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/function-declarations.ts";
import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import type { PolicyContext } from "../language/policy-context.ts";

const { string } = types;

/** Reads the secret by its present names, without a cache, so that a new value takes effect immediately. */
function readSecret(vault: string, name: string, run: Run): Result {
  const found = (run.activation as PolicyContext).secret(vault, name);
  if (found === undefined) return new CelFailure("the vault or the secret does not exist");
  return run.makeText(found.length) ?? found;
}

export const secretFunctions: readonly FunctionDeclaration[] = [
  defineFunction(
    secretGet(),
    defineOverload("secrets_get", [string, string], string, readSecret, { isVolatile: true }),
  ),
];

/** Name of the function. */
export function secretGet(): string {
  return "secrets.get";
}
