/** Lists of the objects that have one of some values. */
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";

/** Values of one parameter. */
const maxValues = 100;

interface Narrowing {
  holds(object: StoredObject): boolean;
  /** The parameters again, for the URI of the next page. */
  readonly query: string;
}

/** What the query says about the fields that the resource is narrowed by; undefined when it says nothing. */
export function narrowedBy(resource: ResourceDeclaration, call: Call): Narrowing | undefined {
  const given = (resource.narrowedBy ?? []).filter((name) => call.query.has(name));
  if (given.length === 0) return undefined;
  const wanted = given.map((name) => [name, new Set(call.query.getAll(name))] as const);
  for (const [name, values] of wanted) {
    if (values.size <= maxValues) continue;
    throw new Refusal("query_invalid", `${call.operation.id}: "${name}" can be given at most ${maxValues} times`);
  }
  const pairs = given.flatMap((name) => call.query.getAll(name).map((value): [string, string] => [name, value]));
  return {
    holds: (object) =>
      wanted.every(([name, values]) => values.has(String(name === "id" ? object.id : object.doc[name]))),
    query: `&${new URLSearchParams(pairs).toString()}`,
  };
}
