import type { ResourceDeclaration } from "../../schema/resource.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { requireObject } from "../objects/lookup.ts";
import { checkIfMatch } from "../objects/preconditions.ts";
import { dryRunQuery, isDryRun, rehearseWork } from "../objects/dry-run.ts";
import { writeContext } from "../objects/write-context.ts";
import type { Draft } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { withArticle } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function deleteOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `delete${resource.schemaName}${suffix}`,
    method: "DELETE",
    path: `${path}/{id}`,
    summary: `Delete ${withArticle(resource)}. With \`dry_run\`, check whether this is possible.`,
    resource,
    verb: "delete",
    takes: "nothing",
    query: dryRunQuery,
    status: 204,
    run: (call) => deleteObject(resource, call, context),
  };
}

async function deleteObject(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  requireObject(resource, call, context.store);
  const { store } = context;
  const work = (draft: Draft): string => {
    const object = requireObject(resource, call, draft);
    checkIfMatch(call, viewsFor(call, context).etag(object));
    context.behaviours[resource.name]?.deleting?.(object, draft);
    draft.delete(object);
    return object.id;
  };
  if (isDryRun(call)) {
    const { also } = rehearseWork(store, call, work, (id) => id);
    return { status: 204, revision: store.revision, headers: also };
  }
  const { revision } = await store.write(writeContext(call), work);
  return { status: 204, revision };
}
