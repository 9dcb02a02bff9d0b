import type { ResourceDeclaration } from "../../schema/resource.ts";
import { getPast, pastQuery } from "../history/past.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { requireObject } from "../objects/lookup.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { withArticle } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function getOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `get${resource.schemaName}${suffix}`,
    method: "GET",
    path: `${path}/{id}`,
    summary: `Get ${withArticle(resource)}.`,
    resource,
    verb: "get",
    takes: "nothing",
    query: pastQuery(resource),
    status: 200,
    replySchema: resource.schemaName,
    run: (call) => getObject(resource, call, context),
  };
}

function getObject(resource: ResourceDeclaration, call: Call, context: ObjectContext): Reply | Promise<Reply> {
  if (call.query.size > 0) return getPast(resource, call, context.store);
  const object = requireObject(resource, call, resource.live ? context.liveObjects : context.store);
  const views = viewsFor(call, context);
  const { body, contentLength } = views.sized(object, call.baseUrl);
  const { revision } = context.store;
  if (resource.live) return { status: 200, body, contentLength, revision };
  return { status: 200, body, contentLength, etag: views.etag(object), revision };
}
