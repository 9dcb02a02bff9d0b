/**
 * Values that the server itself has set in an account. Documents omit them, and writes of many objects preserve them.
 */
import { isDeepStrictEqual } from "node:util";
import type { Doc } from "../../schema/doc.ts";
import type { Behaviour } from "./behaviour.ts";

/** Returns the document without the values that the server set. Undefined if the server created the object. */
export function withoutServerSet(behaviour: Behaviour | undefined, doc: Doc): Doc | undefined {
  return behaviour?.configured ? behaviour.configured(doc) : doc;
}

/** Returns `wanted` with the values that the server has set in `present`, where `wanted` does not set them. */
export function withServerSet(behaviour: Behaviour | undefined, wanted: Doc, present: Doc | undefined): Doc {
  const configured = present && behaviour?.configured?.(present);
  if (!configured) return wanted;
  let doc = wanted;
  for (const [name, value] of Object.entries(present)) {
    if (isDeepStrictEqual(value, configured[name]) || !isDeepStrictEqual(wanted[name], configured[name])) continue;
    const kept = { ...doc, [name]: value };
    if (isDeepStrictEqual(behaviour?.configured?.(kept)?.[name], configured[name])) doc = kept;
  }
  return doc;
}
