/** Documents with many objects: their format, and the names by which objects refer to each other. */
import { documentKeyField, isDocumentKind } from "../../resources/document-key.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Issue } from "../../schema/fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import { resources } from "../operation/resource-declarations.ts";
import { isJsonObject } from "../../lib/json.ts";

/** Maximum number of objects in one document. It limits the size of the commit. */
export const maxDocumentObjects = 10_000;
/** Name of a document without a name. */
export const defaultDocument = "main";

/** Kinds of objects that documents may contain, in the order of the list of resources. */
export const documentKinds: readonly ResourceDeclaration[] = resources.filter(isDocumentKind);

export interface DocumentEntry {
  readonly resource: ResourceDeclaration;
  /** Name in the document. */
  readonly name: string;
  /** `document/name`: unique in the account, and stored with the object. */
  readonly key: string;
  /** Path in the document, such as `objects.ip_policy.office`. */
  readonly path: string;
  readonly fields: JsonObject;
  /** Id of an existing object that the entry adopts. */
  readonly id: string | undefined;
}

export interface Document {
  readonly name: string;
  /** Whether to delete objects that entries of this document created earlier and that are no longer in it. */
  readonly prune: boolean;
  /** By key. */
  readonly entries: ReadonlyMap<string, DocumentEntry>;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const documentPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const idPattern = /^[a-z0-9]+_[0-9a-z]{27}$/;

/** Reads the structure of a document, without the fields of its objects. Adds problems to `issues`. */
export function readDocument(body: JsonObject, issues: Issue[]): Document {
  for (const name of Object.keys(body)) {
    if (["document", "prune", "objects"].includes(name)) continue;
    const message = "is unknown; known are: document, prune, objects";
    issues.push({ path: name, message, reason: "unknown_field" });
  }
  const name = body["document"] ?? defaultDocument;
  const text = typeof name === "string" ? name : "";
  if (!documentPattern.test(text)) {
    issues.push({ path: "document", message: "must be 1 to 64 letters, digits, dots, dashes and underscores" });
  }
  const prune = body["prune"] ?? false;
  if (typeof prune !== "boolean") issues.push({ path: "prune", message: "must be true or false" });
  const objects = body["objects"];
  const entries = new Map<string, DocumentEntry>();
  if (!isJsonObject(objects))
    issues.push({ path: "objects", message: "must be an object: kind, then name, then fields" });
  else for (const [kind, named] of Object.entries(objects)) readKind(text, kind, named, entries, issues);
  return { name: text, prune: prune === true, entries };
}

function readKind(
  document: string,
  kind: string,
  named: unknown,
  entries: Map<string, DocumentEntry>,
  issues: Issue[],
): void {
  const resource = documentKinds.find((one) => one.name === kind);
  if (!resource) {
    const known = documentKinds.map((one) => one.name).join(", ");
    const message = `is not a kind that documents support; known are: ${known}`;
    issues.push({ path: `objects.${kind.slice(0, 64)}`, message, reason: "unknown_field" });
    return;
  }
  if (named === null) return;
  if (!isJsonObject(named)) {
    issues.push({ path: `objects.${kind}`, message: "must be an object: names and fields" });
    return;
  }
  for (const [name, given] of Object.entries(named)) {
    const path = `objects.${kind}.${name.slice(0, 128)}`;
    const key = keyOf(document, name);
    const fault = faultOf(name, key, given, entries);
    if (fault !== undefined) {
      issues.push({ path, message: fault });
      continue;
    }
    if (entries.size === maxDocumentObjects) {
      issues.push({ path: "objects", message: `must have at most ${maxDocumentObjects}` });
      return;
    }
    const { id, ...fields } = (given ?? {}) as { readonly id?: string };
    entries.set(key, { resource, name, key, path, fields, id });
  }
}

function faultOf(
  name: string,
  key: string,
  value: unknown,
  entries: ReadonlyMap<string, DocumentEntry>,
): string | undefined {
  const [first, second, ...rest] = name.split("/") as [string, ...string[]];
  const plain =
    second === undefined ? namePattern.test(first) : documentPattern.test(first) && namePattern.test(second);
  if (!plain || rest.length > 0 || idPattern.test(name)) {
    return "must have a name of 1 to 128 letters, digits, dots, dashes and underscores that does not look like an id";
  }
  const other = entries.get(key);
  if (other) return `must not have the name of another object: ${other.path}`;
  if (value !== null && !isJsonObject(value)) return "must be an object: its fields";
  if (value !== null && value["id"] !== undefined && typeof value["id"] !== "string") return "must have a valid id";
  return undefined;
}

/** Returns `document/name`. A name that already contains a document is returned unchanged. */
export function keyOf(document: string, name: string): string {
  return name.includes("/") ? name : `${document}/${name}`;
}

export function keyOfStored(object: StoredObject): string | undefined {
  return (object.doc[documentKeyField] as string | null | undefined) ?? undefined;
}

export function isId(text: string): boolean {
  return idPattern.test(text);
}
