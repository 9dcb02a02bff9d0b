/** Backends that are made of backends. */
import { Refusal } from "../../lib/errors.ts";
import type { Reader } from "../../storage/store.ts";
import type { Special } from "./special.ts";

const maxDepth = 5;

/** Refuses members that lead back to the backend itself, and nesting that is too deep. */
export const nestedBackendSpecial: Special = {
  prepare({ draft, accountId, doc, previous }) {
    for (const id of memberIds(doc)) checkBelow(draft, accountId, id, previous?.id, 1);
    return { doc };
  },
};

function checkBelow(reader: Reader, accountId: string, id: string, root: string | undefined, depth: number): void {
  if (id === root) throw refusal(`"${id}" leads back to itself`);
  if (depth > maxDepth) throw refusal(`they are nested deeper than ${maxDepth}`);
  for (const kind of ["failover_backend", "weighted_backend"]) {
    const found = reader.get(accountId, kind, id);
    for (const member of found ? memberIds(found.doc) : []) checkBelow(reader, accountId, member, root, depth + 1);
  }
}

function memberIds(doc: Readonly<Record<string, unknown>>): readonly string[] {
  const members = doc["backends"] as readonly string[] | Readonly<Record<string, number>>;
  return Array.isArray(members) ? members : Object.keys(members);
}

function refusal(why: string): Refusal {
  return new Refusal("backend_nesting", `the members cannot be used: ${why}`, { backends: why });
}
