import { connectionVariables } from "./connection-variables.ts";
import { decisionVariables } from "./decision-variables.ts";
import type { Exchange } from "../exchange.ts";
import { collections, messageVariables } from "./message-variables.ts";
import type { Variables } from "./variable.ts";

/** Every variable of header values (semantics, "Header values"). */
export const variables: Variables = { ...connectionVariables, ...messageVariables, ...decisionVariables };

/** What reads the variable called `name`; unknown ones are empty. */
export function variable(name: string): (exchange: Exchange) => string {
  if (Object.hasOwn(variables, name)) return (variables[name] as Variables[string]).read;
  const member = /^(.+?)(?:\.([\w-]+)|\[(?:'([^']+)'|"([^"]+)")\])(?:\[0\])?$/.exec(name);
  const of = member?.[1] ?? "";
  const key = member?.[2] ?? member?.[3] ?? member?.[4];
  return key !== undefined && Object.hasOwn(collections, of)
    ? (collections[of] as (typeof collections)[string]).under(key)
    : () => "";
}
