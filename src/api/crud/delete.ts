import type { ResourceDeclaration } from "../../schema/resource.ts";
import { viewsFor } from "../objects/context.ts";
import type { ObjectContext } from "../objects/context.ts";
import { theOne } from "../objects/lookup.ts";
import { checkIfMatch } from "../objects/preconditions.ts";
import { dryRunQuery, isDryRun, rehearse } from "../objects/dry-run.ts";
import { writeContext } from "../objects/write-context.ts";
import type { Draft } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { oneOf } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function deleteOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `delete${resource.schemaName}${suffix}`,
    method: "DELETE",
    path: `${path}/{id}`,
    summary: `Delete ${oneOf(resource)}. With \`dry_run\`, check whether this is possible.`,
    resource,
    verb: "delete",
    takes: "nothing",
    query: dryRunQuery,
    status: 204,
    run: (call) => remove(resource, call, context),
  };
}

async function remove(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  theOne(resource, call, context.store);
  const { store } = context;
  const work = (draft: Draft): string => {
    const object = theOne(resource, call, draft);
    checkIfMatch(call, viewsFor(call, context).etag(object));
    context.behaviours[resource.name]?.deleting?.(object, draft);
    draft.delete(object);
    return object.id;
  };
  if (isDryRun(call)) {
    const { also } = rehearse(store, call, work, (id) => id);
    return { status: 204, revision: store.revision, headers: also };
  }
  const { revision } = await store.write(writeContext(call), work);
  return { status: 204, revision };
}
