/** What the server has put into an account by itself: documents leave it out, and writes of many objects leave it alone. */
import { isDeepStrictEqual } from "node:util";
import type { Doc } from "../../schema/doc.ts";
import type { Behaviour } from "./behaviour.ts";

/** The document without what the server set; undefined when the object as a whole is the server's. */
export function withoutServerSet(behaviour: Behaviour | undefined, doc: Doc): Doc | undefined {
  return behaviour?.configured ? behaviour.configured(doc) : doc;
}

/** `wanted` with what the server has set in `present`, where `wanted` leaves that to it as well. */
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
