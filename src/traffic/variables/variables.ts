import { connectionVariables } from "./connection-variables.ts";
import { decisionVariables } from "./decision-variables.ts";
import type { Exchange } from "../exchange.ts";
import { collections, messageVariables } from "./message-variables.ts";
import type { CollectionDeclaration, Variables } from "./variable.ts";

/** All variables of header values (semantics, "Header values"). */
export const variables: Variables = { ...connectionVariables, ...messageVariables, ...decisionVariables };

/** Returns the reader of the variable `name`. Unknown variables are empty. */
export function readerOf(name: string): (exchange: Exchange) => string {
  if (Object.hasOwn(variables, name)) return (variables[name] as Variables[string]).read;
  const member = memberOf(name);
  return member ? member.of.under(member.key) : () => "";
}

/** Whether the variable is text as it was sent. */
export function isVerbatim(name: string): boolean {
  const declared = Object.hasOwn(variables, name) ? variables[name] : memberOf(name)?.of;
  return declared?.isVerbatim === true;
}

function memberOf(name: string): { readonly of: CollectionDeclaration; readonly key: string } | undefined {
  const member = /^(.+?)(?:\.([\w-]+)|\[(?:'([^']+)'|"([^"]+)")\])(?:\[0\])?$/.exec(name);
  const of = member?.[1] ?? "";
  const key = member?.[2] ?? member?.[3] ?? member?.[4];
  if (key === undefined || !Object.hasOwn(collections, of)) return undefined;
  return { of: collections[of] as CollectionDeclaration, key };
}
