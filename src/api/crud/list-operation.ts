/** Pages of a collection: present, past, or filtered. */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import { filterQuery, listFiltered } from "../filter/filtered-list.ts";
import { readNarrowing } from "../filter/narrow.ts";
import { listPast, readPast, pastQuery } from "../history/past.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { accountOf } from "../objects/lookup.ts";
import { pageBody, pageQuery, readPageQuery } from "../objects/page-query.ts";
import type { Page, ReadPage } from "../objects/read-page.ts";
import { changing } from "../objects/views.ts";
import { longLists, walkPage } from "../objects/walk.ts";
import type { WalkedPage } from "../objects/walk.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { isVisible, seesEverything } from "../operation/scope.ts";
import type { StoredObject } from "../../storage/store.ts";
import { pluralOf, pluralName } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function listOperation(collection: Collection, context: ObjectContext): Operation {
  const { resource, path, listKey, suffix } = collection;
  return {
    id: `list${pluralName(resource.schemaName)}${suffix}`,
    method: "GET",
    path,
    summary: `List ${pluralOf(resource)}, newest first.`,
    resource,
    verb: "list",
    takes: "nothing",
    listKey,
    query: [...pageQuery, ...filterQuery, ...(resource.narrowedBy ?? []), ...pastQuery(resource)],
    status: 200,
    replySchema: `${resource.schemaName}List${suffix}`,
    refusals: ["work_limit"],
    run: (call) => listObjects(collection, call, context),
  };
}

function listObjects(collection: Collection, call: Call, context: ObjectContext): Reply | Promise<Reply> {
  const { resource, path, listKey } = collection;
  const { id: keyId, scope } = call.principal;
  const accountId = accountOf(resource, call);
  const read = pagesOf(resource, accountId, context);
  const narrowed = readNarrowing(resource, call);
  const isPartial = narrowed !== undefined || !seesEverything(scope);
  const holds = (object: StoredObject): boolean => isVisible(scope, object) && narrowed?.holds(object) !== false;
  const views = viewsFor(call, context);
  const more = narrowed?.query ?? "";
  const { revision } = context.store;
  if (call.query.has("filter")) {
    if (call.query.has("at_revision")) {
      const history = readPast(resource, call, context.store);
      const place = { path, listKey, more: `&at_revision=${history.revision}` };
      return longLists.take(keyId, () => listFiltered(resource, place, call, history, holds));
    }
    const present = { revision, read, viewsOf: () => views };
    return longLists.take(keyId, () => listFiltered(resource, { path, listKey, more }, call, present, holds));
  }
  if (call.query.has("at_revision")) {
    return longLists.take(keyId, () => listPast(resource, path, listKey, call, context.store));
  }
  const { limit, beforeId } = readPageQuery(call);
  const render = (objects: readonly StoredObject[], nextBeforeId: string | undefined): string => {
    const items = objects.map((object) => views.json(object, call.baseUrl));
    return pageBody(call, path, listKey, items, { limit, nextBeforeId, more });
  };
  const renderPage = (page: Page): string => render(page.objects, page.more ? page.objects.at(-1)?.id : undefined);
  if (isPartial) {
    const reply = ({ objects, next }: WalkedPage): Reply => ({ status: 200, body: render(objects, next), revision });
    return walkPage(keyId, { limit, beforeId }, read, holds, reply);
  }
  if (changing.has(resource.name) || resource.live || views !== context.views) {
    return { status: 200, body: renderPage(read({ limit, beforeId })), revision };
  }
  const key = [accountId, call.baseUrl + path, limit, beforeId ?? ""].join(" ");
  const { body, contentLength } = context.pages.sent(
    key,
    context.store.commits,
    () => read({ limit, beforeId }),
    renderPage,
  );
  return { status: 200, body, contentLength, revision };
}

function pagesOf({ name, live }: ResourceDeclaration, accountId: string, context: ObjectContext): ReadPage {
  const { liveObjects, store } = context;
  if (live) return (request) => liveObjects.page(accountId, name, request);
  return ({ limit, beforeId }) => store.page(accountId, name, { limit, ...(beforeId !== undefined && { beforeId }) });
}
