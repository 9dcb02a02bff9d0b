/** The operations that follow from a resource's declaration, implemented once for every resource. */
import type { DeclaredOperation as Verb, ResourceDeclaration } from "../../schema/resource.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import type { Operation } from "../operation/call.ts";
import { clearOperations } from "./clear.ts";
import { collectionsOf } from "./collection.ts";
import type { Collection } from "./collection.ts";
import { createOperation } from "./create.ts";
import { deleteOperation } from "./delete.ts";
import { getOperation } from "./get.ts";
import { listOperation } from "./list-operation.ts";
import { moduleOperations } from "./modules.ts";
import { updateOperation } from "./update.ts";

const operationOf: Readonly<Record<Verb, (collection: Collection, context: ObjectContext) => Operation>> = {
  create: createOperation,
  get: getOperation,
  list: listOperation,
  update: updateOperation,
  delete: deleteOperation,
};

const allVerbs = Object.keys(operationOf) as readonly Verb[];

export function resourceOperations(resource: ResourceDeclaration, context: ObjectContext): Operation[] {
  if (resource.internal) return [];
  const verbs = resource.operations ?? allVerbs;
  return [
    ...collectionsOf(resource).flatMap((collection) => verbs.map((verb) => operationOf[verb](collection, context))),
    ...clearOperations(resource, context),
    ...moduleOperations(resource, context),
  ];
}
