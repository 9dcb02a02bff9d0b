/** The object that a call is about. */
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { pathParameters } from "../operation/declarations.ts";

/** Names that clients put into bodies although the path says it already (semantics, "Ids"). */
export const pathNames: ReadonlySet<string> = new Set(["id", "edge_id", "subscription_id"]);

/** The account whose objects the call is about; accounts belong to the operator's. */
export function accountOf(resource: ResourceDeclaration, call: Call): string {
  if (resource.operatorOnly && !call.principal.operator) throw new Refusal("operator_only");
  return call.principal.accountId;
}

/** The object that the path names; 404 also when its owner in the path is another. */
export function theOne(resource: ResourceDeclaration, call: Call, reader: Pick<Reader, "get">): StoredObject {
  const accountId = accountOf(resource, call);
  const object = find(reader, accountId, resource.name, call.parameters.at(-1) as string);
  const names = pathParameters(resource);
  for (let index = 0; index < names.length; index += 1) {
    if (object.doc[names[index] as string] !== call.parameters[index]) throw notFound(object.kind, object.id);
  }
  return object;
}

export function find(reader: Pick<Reader, "get">, accountId: string, kind: string, id: string): StoredObject {
  const object = reader.get(accountId, kind, id);
  if (!object) throw notFound(kind, id);
  return object;
}

function notFound(kind: string, id: string): Refusal {
  return new Refusal("not_found", `this account has no ${kind.replaceAll("_", " ")} "${id.slice(0, 64)}"`);
}
