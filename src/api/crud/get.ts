import type { ResourceDeclaration } from "../../schema/resource.ts";
import { getPast, pastQuery } from "../history/past.ts";
import { viewsFor } from "../objects/context.ts";
import type { ObjectContext } from "../objects/context.ts";
import { theOne } from "../objects/lookup.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { oneOf } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function getOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `get${resource.schemaName}${suffix}`,
    method: "GET",
    path: `${path}/{id}`,
    summary: `Get ${oneOf(resource)}.`,
    resource,
    verb: "get",
    takes: "nothing",
    query: pastQuery(resource),
    status: 200,
    replySchema: resource.schemaName,
    run: (call) => get(resource, call, context),
  };
}

function get(resource: ResourceDeclaration, call: Call, context: ObjectContext): Reply | Promise<Reply> {
  if (call.query.size > 0) return getPast(resource, call, context.store);
  const object = theOne(resource, call, resource.live ? context.liveObjects : context.store);
  const views = viewsFor(call, context);
  const { body, contentLength } = views.sized(object, call.baseUrl);
  const { revision } = context.store;
  if (resource.live) return { status: 200, body, contentLength, revision };
  return { status: 200, body, contentLength, etag: views.etag(object), revision };
}
