/** The names available to expressions of a policy, by phase and protocol. */
import { defineEnvironment } from "../cel/checking/environment.ts";
import type { Environment } from "../cel/checking/environment.ts";
import { mapOf, objectType, types } from "../cel/checking/types.ts";
import { listFunctions } from "../cel/functions/lists.ts";
import { standardFunctions } from "../cel/functions/standard.ts";
import { policySplit, stringFunctions } from "../cel/functions/strings.ts";
import type { ActionDeclaration, Layer, Phase } from "./language/action.ts";
import { addressFunctions } from "./functions/addresses.ts";
import { encodingFunctions } from "./functions/encodings.ts";
import { hashFunctions } from "./functions/hashes.ts";
import { randomFunctions } from "./functions/random.ts";
import { requestFunctions, responseFunctions } from "./functions/request.ts";
import { secretFunctions } from "./functions/secrets.ts";
import { phasesOf } from "./phases.ts";
import { connectionVariables, tlsVariables } from "./variables/connection.ts";
import { variable } from "./variables/declare.ts";
import type { Variables } from "./variables/declare.ts";
import { requestVariables, responseVariables } from "./variables/message.ts";
import { presentNames } from "./variables/older-names.ts";

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
  if (!environment) made.set(key, (environment = make(phase, layer, actions)));
  return environment;
}

function make(phase: Phase, layer: Layer, actions: readonly ActionDeclaration[]): Environment {
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
      vars: variable(mapOf(types.string, types.dyn), ({ vars }) => vars),
    },
    presentName: presentNames(Object.keys(traffic)),
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
  const here = environmentOf(phase, layer, actions);
  const knows = (other: Phase): boolean => {
    const { variables, functions } = environmentOf(other, layer, actions);
    return functions.has(name) || names.some((one) => variables.has(one) && !here.variables.has(one));
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
        [`actions.ngrok.${name}`, variable(type, (context) => context.result(name))] as const,
        ...Object.entries(mirrors).map(([below, { type: its, read }]) => {
          const own = variable(its, (context) =>
            context.result(name) === undefined ? undefined : read(context as never),
          );
          return [`actions.ngrok.${name}.${below}`, own] as const;
        }),
      ];
    }),
  );
}
