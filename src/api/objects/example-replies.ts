/** Example replies with every field, derived from the declarations, for the description of the API. */
import type { Field, Fields } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { renderFields } from "../../schema/render-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Operation } from "../operation/call.ts";
import { modulesOf, resourceNamed } from "../operation/resource-declarations.ts";
import { exampleId, exampleInput, exampleTime, exampleValue } from "../operation/example-ids.ts";
import { uriOf, uriOfId } from "./views.ts";

/** Operations with the same reply share an example by its name. */
export interface NamedExample {
  readonly name: string;
  readonly value: unknown;
}

export const exampleBaseUrl = "https://api.example.com";

/** Selects the values that a reply shows. */
interface ShownValues {
  /** Whether to include values that only the reply to a creation shows. */
  readonly once: boolean;
  /** Whether all values come from the server, including optional input. */
  readonly all: boolean;
}

/** Returns the reply of `operation`. Throws if it does not follow from the declarations. */
export function exampleReply(operation: Operation): NamedExample {
  const { id, replySchema, resource, block, listKey, verb } = operation;
  if (operation.exampleReply !== undefined) return { name: id, value: operation.exampleReply };
  if (replySchema === undefined || !resource) throw new Error(`describe ${id}: it has no example of its answer`);
  const module = modulesOf(resource).find(([{ name }]) => name === block)?.[1];
  if (module) return { name: replySchema, value: exampleShown(module.fields) };
  if (listKey !== undefined) return { name: replySchema, value: exampleList(resource, operation.path, listKey) };
  const once = verb === "create" && Object.values(resource.fields).some(isShownOnce);
  return { name: once ? `${replySchema}Created` : replySchema, value: exampleObject(resource, once) };
}

/** Returns a list of one object at `path`, whose parameters are ids of the resource's owner. */
export function exampleList(resource: ResourceDeclaration, path: string, listKey: string): Record<string, unknown> {
  const owner = resource.ownedBy?.kind;
  const uri = path.replaceAll(/\{\w+\}/g, () => exampleId(owner as string));
  return { [listKey]: [exampleObject(resource)], uri: exampleBaseUrl + uri, next_page_uri: null };
}

/** @param once whether to return the reply to its creation */
export function exampleObject(resource: ResourceDeclaration, once = false): Record<string, unknown> {
  const { name, live, operations } = resource;
  const all = live === true || operations?.includes("create") === false;
  const doc = docOf(resource.fields, exampleInput(resource.fields, "create"), { once, all });
  const id = exampleId(name);
  return {
    id,
    uri: uriOf({ kind: name, id, doc }, exampleBaseUrl),
    ...(!live && { created_at: exampleTime }),
    ...renderExample(resource.fields, doc),
  };
}

/** Returns fields as a reply shows them, with the values that an input must have. */
export function exampleShown(fields: Fields): Record<string, unknown> {
  return renderExample(fields, docOf(fields, exampleInput(fields, "create"), { once: false, all: false }));
}

function renderExample(fields: Fields, doc: Doc): Record<string, unknown> {
  return renderFields(fields, doc, {
    uriOf: (id) => uriOfId(id, exampleBaseUrl),
    children: (kind) => [exampleObject(resourceNamed(kind))],
    live: doc,
    redact: false,
  });
}

function docOf(fields: Fields, doc: Doc, shown: ShownValues): Doc {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const key = inputName(name, field);
      return [key, valueOf(name, field, doc[key], shown)];
    }),
  );
}

function valueOf(name: string, field: Field, stored: unknown, shown: ShownValues): unknown {
  if (isShownOnce(field)) return shown.once ? field.example : null;
  if (stored === undefined && field.nullable) return null;
  // An immutable reference names the owner of the object.
  const isOwner = field.type === "ref" && field.immutable === true;
  const servers = shown.all || isOwner || field.live === true || field.readOnly === true;
  if (field.type === "object") return docOf(field.fields, (stored ?? {}) as Doc, { ...shown, all: servers });
  const value = stored ?? (servers ? exampleValue(name, field) : emptyValue(field));
  if (field.type !== "list" || field.of.type !== "object") return value;
  const inner = field.of.fields;
  return (value as readonly Doc[]).map((item) => docOf(inner, item, { ...shown, all: servers }));
}

/** Computed for each reply, and null in all replies except one. */
function isShownOnce(field: Field): boolean {
  return field.live === true && field.nullable === true && field.example !== undefined;
}
