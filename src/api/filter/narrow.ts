/** Selects objects that have one of several values. */
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";

/** Maximum number of values of one parameter. */
const maxValues = 100;

interface Narrowing {
  holds(object: StoredObject): boolean;
  /** The same parameters, for the URI of the next page. */
  readonly query: string;
}

/**
 * Returns the conditions of the query on the fields that the resource can be selected by. Undefined if there are none.
 */
export function readNarrowing(resource: ResourceDeclaration, call: Call): Narrowing | undefined {
  const conditions = (resource.narrowedBy ?? []).filter((name) => call.query.has(name));
  if (conditions.length === 0) return undefined;
  const wanted = conditions.map((name) => [name, new Set(call.query.getAll(name))] as const);
  for (const [name, values] of wanted) {
    if (values.size <= maxValues) continue;
    throw new Refusal("query_invalid", `${call.operation.id}: "${name}" can be given at most ${maxValues} times`);
  }
  const pairs = conditions.flatMap((name) => call.query.getAll(name).map((value): [string, string] => [name, value]));
  return {
    holds: (object) =>
      wanted.every(([name, values]) => values.has(String(name === "id" ? object.id : object.doc[name]))),
    query: `&${new URLSearchParams(pairs).toString()}`,
  };
}
