import type { ResourceDeclaration } from "../../schema/resource.ts";
import { writeChange } from "../objects/change.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { dryRunQuery } from "../objects/dry-run.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { withArticle } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function updateOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `update${resource.schemaName}${suffix}`,
    method: "PATCH",
    path: `${path}/{id}`,
    summary: `Change the given attributes of ${withArticle(resource)}. With \`dry_run\`, return the effect without making changes.`,
    resource,
    verb: "update",
    takes: "object",
    query: dryRunQuery,
    input: resource.fields,
    status: 200,
    replySchema: resource.schemaName,
    run: (call) => updateObject(resource, call, context),
  };
}

async function updateObject(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  const { revision, result, headers } = await writeChange(resource, call, context, call.body);
  const views = viewsFor(call, context);
  return { status: 200, body: views.json(result, call.baseUrl), etag: views.etag(result), revision, headers };
}
