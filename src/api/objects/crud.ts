/** Create, get, list, update and delete: once for every resource. */
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ModuleOwner } from "../../traffic/module.ts";
import type { Issue } from "../../schema/fields.ts";
import { typeName } from "../../schema/json-schema.ts";
import { checkRules } from "../../schema/issues.ts";
import { parseFields } from "../../schema/parse.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Operation as Verb, ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, Store, StoredObject, Written } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { writeContext } from "../operation/call.ts";
import { pathParameters } from "../operation/declarations.ts";
import { identified, makeIdentities, noIdentities } from "./identities.ts";
import type { Identities } from "./identities.ts";
import { filterQuery, listFiltered } from "../filter/list.ts";
import type { ReadPage } from "../filter/list.ts";
import { getPast, listPast, pastQuery } from "../history/past.ts";
import type { KeptPages, Page } from "./kept-pages.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { accountOf, find, theOne } from "./lookup.ts";
import { pageBody, pageQuery, readPageQuery } from "./pages.ts";
import { checkIfMatch } from "./preconditions.ts";
import { inputRefusal } from "../operation/problems.ts";
import { narrowedBy, onlyWhere } from "../filter/narrow.ts";
import { onlyVisible } from "../scopes/enforce.ts";
import type { Special } from "../special/special.ts";
import { changing } from "./views.ts";
import type { Views } from "./views.ts";
import { writeOnce } from "./write-once.ts";

export interface Crud {
  readonly store: Store;
  readonly views: Views;
  readonly pages: KeptPages;
  readonly liveObjects: LiveObjects;
  readonly specials: Readonly<Record<string, Special>>;
  readonly clock: Clock;
  /** Base of the server's own host names. */
  readonly domain: string;
  /** The port of HTTPS in public URLs, as far as it is known: the usual one until an edge has said another. */
  readonly httpsPort: () => number;
}

/** Names that clients put into bodies although the path says it already (semantics, "Ids"). */
export const pathNames: ReadonlySet<string> = new Set(["id", "edge_id", "subscription_id"]);

const allVerbs: readonly Verb[] = ["create", "get", "list", "update", "delete"];

export function crudOperations(resource: ResourceDeclaration, crud: Crud): Operation[] {
  if (resource.internal) return [];
  const verbs = resource.operations ?? allVerbs;
  const paths = [{ path: resource.path, listKey: resource.listKey }, ...(resource.aliases ?? [])];
  const clearing = (resource.clears ?? []).map(({ path, input }) => clearOperation(resource, path, input, crud));
  return [
    ...paths.flatMap(({ path, listKey }, index) =>
      verbs.map((verb) => operation(resource, verb, path, listKey, index, crud)),
    ),
    ...clearing,
  ];
}

function clearOperation(resource: ResourceDeclaration, path: string, input: string, crud: Crud): Operation {
  return {
    id: `delete${resource.schemaName}${typeName(path)}`,
    method: "DELETE",
    path: `${resource.path}/{id}/${path}`,
    summary: `Unset ${input} of ${words(resource)}.`,
    resource,
    verb: "clear",
    takes: "nothing",
    status: 204,
    async run(call) {
      const { revision } = await writeChange(resource, call, crud, { [input]: null });
      return { status: 204, revision };
    },
  };
}

function operation(
  resource: ResourceDeclaration,
  verb: Verb,
  path: string,
  listKey: string,
  alias: number,
  crud: Crud,
): Operation {
  const name = resource.schemaName;
  const suffix = alias === 0 ? "" : `At${typeName(path.slice(1))}`;
  const one = `${path}/{id}`;
  const shared = { resource, verb, path: one, takes: "nothing", status: 200, answers: name } as const;
  const text = words(resource);
  switch (verb) {
    case "create":
      return {
        ...shared,
        id: `create${name}${suffix}`,
        method: "POST",
        path,
        takes: "object",
        input: resource.fields,
        status: 201,
        summary: `Create ${text}.`,
        run: (call) => create(resource, call, crud),
      };
    case "get":
      return {
        ...shared,
        id: `get${name}${suffix}`,
        method: "GET",
        ...(!resource.live && { query: pastQuery }),
        summary: `Get ${text}.`,
        run: (call) => get(resource, call, crud),
      };
    case "list":
      return {
        ...shared,
        id: `list${plural(name)}${suffix}`,
        method: "GET",
        path,
        listKey,
        query: [...pageQuery, ...filterQuery, ...(resource.narrowedBy ?? []), ...(resource.live ? [] : pastQuery)],
        answers: `${name}List${suffix}`,
        summary: `List ${plural(bare(resource))}, newest first.`,
        run: (call) => list(resource, path, listKey, call, crud),
      };
    case "update":
      return {
        ...shared,
        id: `update${name}${suffix}`,
        method: "PATCH",
        takes: "object",
        input: resource.fields,
        summary: `Change the given attributes of ${text}.`,
        run: (call) => update(resource, call, crud),
      };
    case "delete": {
      const { answers: _, ...rest } = shared;
      return {
        ...rest,
        id: `delete${name}${suffix}`,
        method: "DELETE",
        status: 204,
        summary: `Delete ${text}.`,
        run: (call) => remove(resource, call, crud),
      };
    }
  }
}

/** What the caller may see. */
export function viewsFor({ principal }: Pick<Call, "principal">, { views }: Pick<Crud, "views">): Views {
  return views.seenBy(principal.scope);
}

async function create(resource: ResourceDeclaration, call: Call, crud: Crud): Promise<Reply> {
  const accountId = accountOf(resource, call);
  const body = withPath(resource, call);
  const owner = resource.ownedBy;
  if (owner && resource.path.includes("{")) find(crud.store, accountId, owner.kind, String(body[owner.field]));
  const { issues, doc } = parseFields(resource.fields, body, "create", undefined, pathNames);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const special = crud.specials[resource.name];
  const identities = await makeIdentities(resource, body, undefined, crud.clock.now());
  const work = (draft: Draft): Created => {
    const prepared = prepare(resource, call, draft, accountId, doc, undefined, special);
    const bare = draft.create(accountId, resource.name, prepared.doc);
    const whole = identified(resource, bare.doc, undefined, identities, ownerOf(bare.id, crud));
    const object = whole === bare.doc ? bare : draft.replace(bare, whole);
    const more = special?.created?.(draft, object);
    return { object, shown: { ...prepared.shown, ...more?.shown } };
  };
  const views = viewsFor(call, crud);
  const reply = ({ object, shown }: Created, revision: number): Reply => {
    const body = JSON.stringify(views.render(object, call.baseUrl, shown));
    return { status: 201, body, etag: views.etag(object), revision };
  };
  return writeOnce(call, crud.store, work, reply);
}

interface Created {
  readonly object: StoredObject;
  readonly shown: Doc;
}

function get(resource: ResourceDeclaration, call: Call, crud: Crud): Reply | Promise<Reply> {
  if (call.query.size > 0) return getPast(resource, call, crud.store);
  const object = theOne(resource, call, resource.live ? crud.liveObjects : crud.store);
  const views = viewsFor(call, crud);
  const { body, contentLength } = views.sized(object, call.baseUrl);
  const { revision } = crud.store;
  if (resource.live) return { status: 200, body, contentLength, revision };
  return { status: 200, body, contentLength, etag: views.etag(object), revision };
}

function list(
  resource: ResourceDeclaration,
  path: string,
  listKey: string,
  call: Call,
  crud: Crud,
): Reply | Promise<Reply> {
  const accountId = accountOf(resource, call);
  const visible: ReadPage = onlyVisible(call.principal, ({ limit, beforeId }) =>
    resource.live
      ? crud.liveObjects.page(accountId, resource.name, { limit, beforeId })
      : crud.store.page(accountId, resource.name, { limit, ...(beforeId !== undefined && { beforeId }) }),
  );
  const narrowed = narrowedBy(resource, call);
  const read = narrowed ? onlyWhere(narrowed.holds, visible) : visible;
  const place = { path, listKey, more: narrowed?.query ?? "" };
  const views = viewsFor(call, crud);
  if (call.query.has("filter")) return listFiltered(resource, place, call, { ...crud, views }, read);
  if (call.query.has("at_revision")) return listPast(resource, path, listKey, call, crud.store);
  const { limit, beforeId } = readPageQuery(call);
  const render = ({ objects, more }: Page): string => {
    const items = objects.map((object) => views.json(object, call.baseUrl));
    const nextBeforeId = more ? objects.at(-1)?.id : undefined;
    return pageBody(call, path, listKey, items, { limit, nextBeforeId, more: place.more });
  };
  const { revision } = crud.store;
  if (changing.has(resource.name) || resource.live || narrowed || views !== crud.views) {
    return { status: 200, body: render(read({ limit, beforeId })), revision };
  }
  const key = [accountId, call.baseUrl + path, limit, beforeId ?? ""].join(" ");
  const { body, contentLength } = crud.pages.sent(key, crud.store.commits, () => read({ limit, beforeId }), render);
  return { status: 200, body, contentLength, revision };
}

async function update(resource: ResourceDeclaration, call: Call, crud: Crud): Promise<Reply> {
  const { revision, result } = await writeChange(resource, call, crud, call.body);
  const views = viewsFor(call, crud);
  return { status: 200, body: views.json(result, call.baseUrl), etag: views.etag(result), revision };
}

/** Changes the object that the path names by `body`, in a write of its own. */
export async function writeChange(
  resource: ResourceDeclaration,
  call: Call,
  crud: Crud,
  body: JsonObject,
  check?: (previous: StoredObject) => void,
): Promise<Written<StoredObject>> {
  const present = theOne(resource, call, crud.store);
  check?.(present);
  const identities = await makeIdentities(resource, body, present.doc, crud.clock.now());
  return crud.store.write(writeContext(call), (draft) => {
    check?.(theOne(resource, call, draft));
    return changeIn(draft, resource, call, crud, () => body, identities);
  });
}

/** Changes the object that the path names by what `bodyFor` makes of its state in the write that `draft` is of. */
export function changeIn(
  draft: Draft,
  resource: ResourceDeclaration,
  call: Call,
  crud: Crud,
  bodyFor: (previous: StoredObject) => JsonObject,
  identities: Identities = noIdentities,
): StoredObject {
  const previous = theOne(resource, call, draft);
  checkIfMatch(call, viewsFor(call, crud).etag(previous));
  return change(resource, call, crud, draft, previous, bodyFor(previous), identities);
}

/** Parses `body` as a change of `previous` and stores what comes out; unchanged documents are not stored. */
function change(
  resource: ResourceDeclaration,
  call: Call,
  crud: Crud,
  draft: Draft,
  previous: StoredObject,
  body: JsonObject,
  identities: Identities,
): StoredObject {
  const given = Object.fromEntries(Object.entries(body).filter(([name]) => !pathNames.has(name)));
  const { issues, doc } = parseFields(resource.fields, given, "update", previous.doc);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const special = crud.specials[resource.name];
  const prepared = prepare(resource, call, draft, previous.account_id, doc, previous, special);
  const owner = ownerOf(previous.id, crud);
  const whole = identified(resource, prepared.doc, previous.doc, identities, owner);
  if (JSON.stringify(whole) === JSON.stringify(previous.doc)) return previous;
  return draft.replace(previous, whole);
}

/** What modules of the object may be told of it. */
export function ownerOf(id: string, { domain, httpsPort }: Crud): ModuleOwner {
  return { id, domain, httpsPort: httpsPort() };
}

async function remove(resource: ResourceDeclaration, call: Call, crud: Crud): Promise<Reply> {
  theOne(resource, call, crud.store);
  const { revision } = await crud.store.write(writeContext(call), (draft) => {
    const object = theOne(resource, call, draft);
    checkIfMatch(call, viewsFor(call, crud).etag(object));
    crud.specials[resource.name]?.deleting?.(object, draft);
    draft.delete(object);
  });
  return { status: 204, revision };
}

/** Completes a parsed document and checks it against the resource's rules, in the write that stores it. */
export function prepare(
  resource: ResourceDeclaration,
  call: Call,
  draft: Draft,
  accountId: string,
  parsed: Doc,
  previous: StoredObject | undefined,
  special: Special | undefined,
): { readonly doc: Doc; readonly shown?: Doc } {
  const issues: Issue[] = [];
  const derived = resource.derive?.(parsed as never);
  if (derived && "message" in derived) issues.push(derived as Issue);
  const doc = issues.length === 0 && derived ? { ...parsed, ...derived } : parsed;
  if (issues.length === 0) checkRules(resource.rules ?? [], doc, "", issues);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const source = call.request.socket.remoteAddress ?? "";
  return special?.prepare?.({ draft, accountId, principal: call.principal, source, doc, previous }) ?? { doc };
}

/** The body with what the path says put in, so that it wins. */
function withPath(resource: ResourceDeclaration, call: Call): JsonObject {
  const names = pathParameters(resource);
  if (names.length === 0) return call.body;
  return { ...call.body, ...Object.fromEntries(names.map((name, index) => [name, call.parameters[index]])) };
}

function bare(resource: ResourceDeclaration): string {
  return resource.name.replaceAll("_", " ").replace(/\b(ip|http|https|tls|tcp|api)\b/g, (word) => word.toUpperCase());
}

function words(resource: ResourceDeclaration): string {
  const name = bare(resource);
  // "an HTTPS edge": spelled out, H begins with a vowel.
  return `${/^(?:[aeioAH]|IP)/.test(name) ? "an" : "a"} ${name}`;
}

function plural(name: string): string {
  if (name.endsWith("y") && !/[aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return name.endsWith("s") ? `${name}es` : `${name}s`;
}
