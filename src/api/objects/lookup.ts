/** Finds the object of a call. */
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { pathParameters } from "../operation/resource-declarations.ts";

/** Names that clients repeat in bodies although the path contains them (semantics, "Ids"). */
export const pathNames: ReadonlySet<string> = new Set(["id", "edge_id", "subscription_id"]);

/** Returns the account whose objects the call concerns. Accounts belong to the operator's account. */
export function accountOf(resource: ResourceDeclaration, call: Call): string {
  if (resource.operatorOnly && !call.principal.operator) throw new Refusal("operator_only");
  return call.principal.accountId;
}

/** Returns the object in the path. Throws 404 also if its owner differs from the owner in the path. */
export function requireObject(resource: ResourceDeclaration, call: Call, reader: Pick<Reader, "get">): StoredObject {
  const accountId = accountOf(resource, call);
  const object = findObject(reader, accountId, resource.name, call.parameters.at(-1) as string);
  const names = pathParameters(resource);
  for (let index = 0; index < names.length; index += 1) {
    if (object.doc[names[index] as string] !== call.parameters[index]) throw notFound(object.kind, object.id);
  }
  return object;
}

export function findObject(reader: Pick<Reader, "get">, accountId: string, kind: string, id: string): StoredObject {
  const object = reader.get(accountId, kind, id);
  if (!object) throw notFound(kind, id);
  return object;
}

function notFound(kind: string, id: string): Refusal {
  return new Refusal("not_found", `this account has no ${kind.replaceAll("_", " ")} "${id.slice(0, 64)}"`);
}
