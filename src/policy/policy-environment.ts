/** The names available to expressions of a policy, by phase and protocol. */
import { defineEnvironment } from "../cel/checking/environment.ts";
import type { Environment } from "../cel/checking/environment.ts";
import { mapOf, objectType, types } from "../cel/checking/cel-types.ts";
import { listFunctions } from "../cel/functions/list-functions.ts";
import { standardFunctions } from "../cel/functions/standard.ts";
import { policySplit, stringFunctions } from "../cel/functions/strings.ts";
import type { ActionDeclaration, Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import { addressFunctions } from "./functions/address-functions.ts";
import { encodingFunctions } from "./functions/encodings.ts";
import { hashFunctions } from "./functions/hashes.ts";
import { randomFunctions } from "./functions/random.ts";
import { requestFunctions, responseFunctions } from "./functions/request-functions.ts";
import { secretFunctions } from "./functions/secret-functions.ts";
import { phasesOf } from "./phases.ts";
import { connectionVariables, tlsVariables } from "./variables/policy-connection-variables.ts";
import { declareVariable } from "./variables/declare.ts";
import type { Variables } from "./variables/declare.ts";
import { requestVariables, responseVariables } from "./variables/policy-message-variables.ts";
import { findPresentNames } from "./variables/older-variables.ts";

const commonFunctions = [
  ...standardFunctions,
  ...stringFunctions,
  policySplit,
  ...listFunctions,
  ...encodingFunctions,
  ...hashFunctions,
  ...addressFunctions,
  ...randomFunctions,
  ...secretFunctions,
];

/** Functions of policies besides the language's own, in all phases or in some. */
export const policyFunctions = [
  ...requestFunctions,
  ...responseFunctions,
  ...encodingFunctions,
  ...hashFunctions,
  ...addressFunctions,
  ...randomFunctions,
  ...secretFunctions,
];

/** Variables of a single HTTP request. */
export const messageVariables = { ...connectionVariables, ...tlsVariables, ...requestVariables };

/** Returns the functions that such a request offers. */
export function requestFunctionsOf(): typeof commonFunctions {
  return [...commonFunctions, ...requestFunctions];
}

const made = new Map<string, Environment>();

/** @param actions actions with readable results */
export function environmentOf(phase: Phase, layer: Layer, actions: readonly ActionDeclaration[]): Environment {
  const key = `${phase} ${layer}`;
  let environment = made.get(key);
  if (!environment) made.set(key, (environment = makeEnvironment(phase, layer, actions)));
  return environment;
}

function makeEnvironment(phase: Phase, layer: Layer, actions: readonly ActionDeclaration[]): Environment {
  const isConnection = phase === "on_tcp_connect";
  const isResponse = phase === "on_http_response" || phase === "on_event_stream_message";
  const traffic = {
    ...connectionVariables,
    ...(layer !== "tcp" && tlsVariables),
    ...(!isConnection && requestVariables),
    ...(isResponse && responseVariables),
  };
  return defineEnvironment({
    variables: {
      ...traffic,
      ...resultVariables(actions),
      vars: declareVariable(mapOf(types.string, types.dyn), ({ vars }) => vars),
    },
    presentName: findPresentNames(Object.keys(traffic)),
    elsewhere: (name) => otherPhases(name, phase, layer, actions),
    functions: [
      ...commonFunctions,
      ...(isConnection ? [] : requestFunctions),
      ...(isResponse ? responseFunctions : []),
    ],
  });
}

/** Returns phases of the same protocol that know a name. */
function otherPhases(
  name: string,
  phase: Phase,
  layer: Layer,
  actions: readonly ActionDeclaration[],
): string | undefined {
  const parts = name.split(".");
  const names = parts.map((_, at) => parts.slice(0, at + 1).join("."));
  const environment = environmentOf(phase, layer, actions);
  const knows = (other: Phase): boolean => {
    const { variables, functions } = environmentOf(other, layer, actions);
    return functions.has(name) || names.some((one) => variables.has(one) && !environment.variables.has(one));
  };
  const found = phasesOf[layer].filter((other) => other !== phase && knows(other));
  return found.length === 0 ? undefined : `in ${found.join(" and ")}`;
}

const { string } = types;
const errorType = objectType("error", { code: string, message: string });

/** Before an action runs, its results exist but are empty. */
function resultVariables(actions: readonly ActionDeclaration[]): Variables {
  return Object.fromEntries(
    actions.flatMap(({ results }) => {
      if (!results) return [];
      const { name, fields, mirrors = {} } = results;
      const type = objectType(`result of ${name}`, { ...fields, error: errorType });
      return [
        [`actions.ngrok.${name}`, declareVariable(type, (context) => context.result(name))] as const,
        ...Object.entries(mirrors).map(([below, { type: its, read }]) => {
          const own = declareVariable(its, (context) =>
            context.result(name) === undefined ? undefined : read(context as never),
          );
          return [`actions.ngrok.${name}.${below}`, own] as const;
        }),
      ];
    }),
  );
}
