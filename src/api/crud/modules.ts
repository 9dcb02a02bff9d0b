/** PUT, GET and DELETE of the modules attached to a resource, implemented once for all of them. */
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Fields } from "../../schema/fields.ts";
import { typeName } from "../../schema/json-schema.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { pathNames } from "../objects/lookup.ts";
import { viewsFor } from "../objects/object-context.ts";
import { writeChange } from "../objects/change.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { dryRunQuery } from "../objects/dry-run.ts";
import { modulesOf } from "../operation/resource-declarations.ts";
import { readPastObject, pastQuery, readRevision } from "../history/past.ts";
import { requireObject } from "../objects/lookup.ts";
import { isJsonObject } from "../../lib/json.ts";

export function moduleOperations(resource: ResourceDeclaration, context: ObjectContext): Operation[] {
  return modulesOf(resource).flatMap(([module, field]) => {
    const name = module.name;
    const schemaName = field.schemaName as string;
    const suffix = `${resource.schemaName}${typeName(name)}Module`;
    const shared = { resource, block: name, path: `${resource.path}/{id}/${name}` };
    const replace: Operation = {
      ...shared,
      id: `replace${suffix}`,
      method: "PUT",
      verb: "replace",
      summary: `Replace the whole ${name} module. With \`dry_run\`, return the effect without making changes. ${module.doc}`,
      takes: "object",
      query: dryRunQuery,
      input: field.fields,
      status: 200,
      replySchema: schemaName,
      run: (call) => putModule(resource, name, field.fields, call, context),
    };
    const read: Operation = {
      ...shared,
      id: `get${suffix}`,
      method: "GET",
      verb: "get",
      summary: `Get the ${name} module.`,
      takes: "nothing",
      status: 200,
      replySchema: schemaName,
      query: pastQuery(resource),
      run(call) {
        if (call.query.size > 0) return readPast(resource, name, call, context);
        const object = requireObject(resource, call, context.store);
        requireBlock(object, name);
        return replyWithModule(object, name, call, context, context.store.revision);
      },
    };
    const remove: Operation = {
      ...shared,
      id: `delete${suffix}`,
      method: "DELETE",
      verb: "delete",
      summary: `Remove the ${name} module. With \`dry_run\`, check whether this is possible.`,
      takes: "nothing",
      query: dryRunQuery,
      status: 204,
      run: (call) => deleteModule(resource, name, call, context),
    };
    return [replace, read, remove];
  });
}

async function readPast(
  resource: ResourceDeclaration,
  name: string,
  call: Call,
  context: ObjectContext,
): Promise<Reply> {
  const revision = readRevision(call, context.store);
  const object = await readPastObject(resource, call, context.store, revision);
  requireBlock(object, name);
  return replyWithModule(object, name, call, context, revision);
}

async function putModule(
  resource: ResourceDeclaration,
  name: string,
  fields: Fields,
  call: Call,
  context: ObjectContext,
): Promise<Reply> {
  const body = { [name]: unwrapModule(call.body, fields) };
  const { revision, result, headers } = await writeChange(resource, call, context, body).catch((error: unknown) => {
    throw relativeTo(name, error);
  });
  return { ...replyWithModule(result, name, call, context, revision), headers };
}

async function deleteModule(
  resource: ResourceDeclaration,
  name: string,
  call: Call,
  context: ObjectContext,
): Promise<Reply> {
  const isSet = (object: StoredObject): void => requireBlock(object, name);
  const { revision, headers } = await writeChange(resource, call, context, { [name]: null }, isSet);
  return { status: 204, revision, headers };
}

/**
 * Accepts the four shapes that clients send (semantics, "Bodies"): the bare module, the module in a wrapper with the
 * ids of the path, the module's fields beside those ids, and nothing.
 */
function unwrapModule(body: JsonObject, fields: Fields): JsonObject {
  const rest = Object.keys(body).filter((key) => !pathNames.has(key));
  const inner = body["module"];
  if (rest.length === 1 && rest[0] === "module" && !Object.hasOwn(fields, "module") && isJsonObject(inner))
    return inner;
  return Object.fromEntries(rest.map((key) => [key, body[key]]));
}

/** Makes field paths relative to the module, because the module is the whole body. */
function relativeTo(name: string, error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const strip = (path: string): string =>
    path === name ? "body" : path.startsWith(`${name}.`) ? path.slice(name.length + 1) : path;
  const details = Object.entries(error.details).map(([path, message]) => [strip(path), message]);
  const message = error.message.replace(`"${name}.`, '"');
  return new Refusal(error.reason, message, Object.fromEntries(details));
}

function requireBlock(object: StoredObject, name: string): void {
  if (object.doc[name] !== null) return;
  throw new Refusal("module_unset", `module "${name}" is not set on ${object.id}`);
}

function replyWithModule(
  object: StoredObject,
  name: string,
  call: Call,
  context: ObjectContext,
  revision: number,
): Reply {
  const views = viewsFor(call, context);
  const body = JSON.stringify(views.block(object, name, call.baseUrl));
  return { status: 200, body, etag: views.etag(object), revision };
}
