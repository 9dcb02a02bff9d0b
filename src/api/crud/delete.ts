import type { ResourceDeclaration } from "../../schema/resource.ts";
import { viewsFor } from "../objects/context.ts";
import type { ObjectContext } from "../objects/context.ts";
import { theOne } from "../objects/lookup.ts";
import { checkIfMatch } from "../objects/preconditions.ts";
import { writeContext } from "../objects/write-context.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { oneOf } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function deleteOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `delete${resource.schemaName}${suffix}`,
    method: "DELETE",
    path: `${path}/{id}`,
    summary: `Delete ${oneOf(resource)}.`,
    resource,
    verb: "delete",
    takes: "nothing",
    status: 204,
    run: (call) => remove(resource, call, context),
  };
}

async function remove(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  theOne(resource, call, context.store);
  const { revision } = await context.store.write(writeContext(call), (draft) => {
    const object = theOne(resource, call, draft);
    checkIfMatch(call, viewsFor(call, context).etag(object));
    context.behaviours[resource.name]?.deleting?.(object, draft);
    draft.delete(object);
  });
  return { status: 204, revision };
}
