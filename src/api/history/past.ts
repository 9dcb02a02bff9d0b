/** Past states of objects and lists: `?at_revision=N`. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { Call, Reply } from "../operation/call.ts";
import { accountOf, requireObject } from "../objects/lookup.ts";
import type { Looked } from "../objects/read-page.ts";
import { readOnce, pageBody, readPageQuery } from "../objects/page-query.ts";
import type { KeyScope } from "../operation/scope.ts";
import { makeViews, ownedInside } from "../objects/views.ts";
import type { Views } from "../objects/views.ts";

/** Only for stored and recorded objects. Other objects have no past. */
export function pastQuery({ live, unrecorded }: ResourceDeclaration): readonly "at_revision"[] {
  return live || unrecorded ? [] : ["at_revision"];
}

/** Maximum number of nested objects in a past state. An edge has fewer routes. */
const maxInside = 10_000;

/** Live fields are not recorded, so they are empty in past states. */
export async function getPast(resource: ResourceDeclaration, call: Call, store: Store): Promise<Reply> {
  const revision = readRevision(call, store);
  const object = await readPastObject(resource, call, store, revision);
  const views = await viewsAt(revision, store, [object], call.principal.scope);
  return { status: 200, body: views.json(object, call.baseUrl), etag: views.etag(object), revision };
}

export async function listPast(
  resource: ResourceDeclaration,
  path: string,
  listKey: string,
  call: Call,
  store: Store,
): Promise<Reply> {
  const { revision, read, viewsOf } = readPast(resource, call, store);
  const { limit, beforeId } = readPageQuery(call);
  const { objects, more } = await read({ limit, beforeId });
  const views = await viewsOf(objects);
  const items: string[] = [];
  for (const object of objects) {
    items.push(views.json(object, call.baseUrl));
    // An edge can have very many routes, so other requests run between items.
    await nextTurn();
  }
  const nextBeforeId = more ? objects.at(-1)?.id : undefined;
  const body = pageBody(call, path, listKey, items, { limit, nextBeforeId, more: `&at_revision=${revision}` });
  return { status: 200, body, revision };
}

/** Returns the collection at the revision of the call. */
export function readPast(resource: ResourceDeclaration, call: Call, store: Store): Looked {
  const accountId = accountOf(resource, call);
  const revision = readRevision(call, store);
  return {
    revision,
    read: ({ limit, beforeId }) =>
      store.history.pageAt(revision, accountId, resource.name, { limit, ...(beforeId !== undefined && { beforeId }) }),
    viewsOf: (objects) => viewsAt(revision, store, objects, call.principal.scope),
  };
}

/** Returns the object in the path at `revision`. Throws 404 if it did not exist then. */
export async function readPastObject(
  resource: ResourceDeclaration,
  call: Call,
  store: Store,
  revision: number,
): Promise<StoredObject> {
  const id = call.parameters.at(-1) as string;
  const found = await store.history.objectAt(revision, accountOf(resource, call), resource.name, id);
  return requireObject(resource, call, { get: () => found });
}

/** Returns the revision of the query, which must already exist. */
export function readRevision(call: Call, store: Pick<Store, "revision">): number {
  const text = readOnce(call, "at_revision") ?? "";
  if (!/^[0-9]{1,15}$/.test(text)) {
    throw new Refusal("query_invalid", `${call.operation.id}: "at_revision" must be the number of a revision`);
  }
  const revision = Number(text);
  if (revision <= store.revision) return revision;
  throw new Refusal("revision_unknown", `revision ${revision} does not exist yet; the last one is ${store.revision}`);
}

/** Returns views of `objects` with the nested objects of that time. */
async function viewsAt(
  revision: number,
  store: Store,
  objects: readonly StoredObject[],
  scope: KeyScope | undefined,
): Promise<Views> {
  const inside = new Map<string, readonly StoredObject[]>();
  const [first, second] = objects;
  if (first && second) {
    const parentIds = new Set(objects.map(({ id }) => id));
    for (const childKind of ownedInside.get(first.kind) ?? []) {
      const children = await store.history.childrenAt(revision, first.account_id, childKind, parentIds);
      for (const [id, all] of children) inside.set(`${childKind} ${id}`, all.slice(-maxInside));
    }
  } else if (first) {
    const { id, kind, account_id } = first;
    for (const childKind of ownedInside.get(kind) ?? []) {
      const page = await store.history.pageAt(revision, account_id, childKind, { limit: maxInside, parentId: id });
      inside.set(`${childKind} ${id}`, page.objects.toReversed());
    }
  }
  return makeViews({ children: (kind, parentId) => inside.get(`${kind} ${parentId}`) ?? [] }, {}).seenBy(scope);
}
