/** The policy language, generated from the declarations, for completion in editors and for readers. */
import { typeText } from "../cel/checking/cel-types.ts";
import type { Type } from "../cel/checking/cel-types.ts";
import type { Overload } from "../cel/checking/function-declarations.ts";
import { macroNames } from "../cel/syntax/macros.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { actions } from "./actions/index.ts";
import { environmentOf } from "./policy-environment.ts";
import { policyExamples } from "./policy-examples.ts";
import type { PolicyExample } from "./policy-examples.ts";
import { policyJsonSchema } from "./policy-json-schema.ts";
import type { Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import { phasesOf } from "./phases.ts";

interface PhaseDescription {
  readonly phase: Phase;
  /** Types of actions available in the phase. */
  readonly actions: readonly string[];
  readonly variables: readonly { readonly name: string; readonly type: string }[];
  readonly functions: readonly { readonly name: string; readonly signatures: readonly string[] }[];
}

export interface LanguageDescription {
  readonly protocols: Readonly<Record<Layer, readonly PhaseDescription[]>>;
  /** Calls that take a variable name, such as `exists`. */
  readonly macros: readonly string[];
  /** The form of policies (JSON Schema 2020-12). */
  readonly schema: JsonSchema;
  readonly examples: readonly PolicyExample[];
}

export function describePolicyLanguage(): LanguageDescription {
  const protocols = { http: phasesFor("http"), tls: phasesFor("tls"), tcp: phasesFor("tcp") };
  return { protocols, macros: macroNames, schema: policyJsonSchema(), examples: policyExamples };
}

function phasesFor(layer: Layer): readonly PhaseDescription[] {
  return phasesOf[layer].map((phase) => {
    const { variables, functions } = environmentOf(phase, layer, actions);
    const known = actions.filter((one) => one.phases.includes(phase) && one.layers?.includes(layer) !== false);
    return {
      phase,
      actions: known.map(({ type }) => type),
      variables: [...variables.values()]
        .filter(({ value }) => value === undefined)
        .flatMap(({ name, type }) => [...withFields(name, type)]),
      functions: [...functions.values()]
        .filter(({ name }) => /^[a-z]/i.test(name))
        .map(({ name, overloads }) => ({ name, signatures: overloads.map((one) => signatureOf(name, one)) })),
    };
  });
}

/** Yields the variable and the fields below it. */
function* withFields(name: string, type: Type): Iterable<{ readonly name: string; readonly type: string }> {
  yield { name, type: typeText(type) };
  if (type.is === "object") for (const [field, of] of type.fields) yield* withFields(`${name}.${field}`, of);
}

/** Returns a signature such as `string.contains(string) -> bool`. */
function signatureOf(name: string, { isMember, parameters, result }: Overload): string {
  const [target, ...rest] = parameters.map(typeText);
  const call = isMember ? `${target}.${name}(${rest.join(", ")})` : `${name}(${parameters.map(typeText).join(", ")})`;
  return `${call} -> ${typeText(result)}`;
}
