/** Exports an account's objects as a document. Applying it changes nothing. */
import { Refusal } from "../../lib/errors.ts";
import { inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { seesSecrets } from "../operation/scope.ts";
import { withoutServerSet } from "../objects/server-set.ts";
import { defaultDocument, documentKinds, maxDocumentObjects, keyOfStored } from "./document.ts";
import { documentFields } from "./document-fields.ts";

/**
 * Exports the account's objects, oldest first; with `document` only the objects of its entries. Unless `writesSecrets`,
 * secrets and values that contain secrets are replaced by placeholders that leave them unchanged.
 * @throws Refusal if there are more objects than a document may contain
 */
export function exportDocument(
  { store: reader, behaviours }: ObjectContext,
  { accountId, scope }: Pick<ApiPrincipal, "accountId" | "scope">,
  { document, writesSecrets }: { readonly document: string | undefined; readonly writesSecrets: boolean },
): Record<string, unknown> {
  const home = document ?? defaultDocument;
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const found: { readonly resource: ResourceDeclaration; readonly objects: readonly StoredObject[] }[] = [];
  let count = 0;
  for (const resource of documentKinds) {
    const { objects } = reader.page(accountId, resource.name, { limit: maxDocumentObjects + 1 });
    const behaviour = behaviours[resource.name];
    const wanted = objects.filter(
      (one) =>
        (document === undefined || keyOfStored(one)?.startsWith(`${document}/`)) &&
        withoutServerSet(behaviour, one.doc) !== undefined,
    );
    count += wanted.length;
    if (count > maxDocumentObjects || objects.length > maxDocumentObjects) {
      throw new Refusal("document_too_large", `the account has more than ${maxDocumentObjects} objects`);
    }
    found.push({ resource, objects: wanted.toReversed() });
    for (const object of objects) {
      const key = keyOfStored(object);
      if (key === undefined) continue;
      const name = key.startsWith(`${home}/`) ? key.slice(home.length + 1) : key;
      names.set(object.id, name);
      taken.add(name);
    }
  }
  for (const { resource, objects } of found) {
    for (const object of objects) {
      if (!names.has(object.id)) names.set(object.id, newName(resource, object, taken));
    }
  }
  const nameOf = (id: string): string => names.get(id) ?? id;
  const writing = { nameOf, seesSecrets: seesSecrets(scope), writesSecrets };
  const kinds = found.flatMap(({ resource, objects }): [string, unknown][] => {
    if (objects.length === 0) return [];
    const entries = objects.map((object) => {
      const configured = withoutServerSet(behaviours[resource.name], object.doc) as Doc;
      const fields = documentFields(resource.fields, configured, writing);
      return [nameOf(object.id), keyOfStored(object) === undefined ? { id: object.id, ...fields } : fields] as const;
    });
    return [[resource.name, Object.fromEntries(entries)]];
  });
  return { document: home, objects: Object.fromEntries(kinds) };
}

/** Fields that identify objects of a kind, best first. */
const telling = ["name", "domain", "hostports", "match", "addr", "address", "cidr", "description"];

/** Returns a name for an object without one, from its fields, with a number if necessary. */
function newName({ name: kind, fields }: ResourceDeclaration, { doc }: StoredObject, taken: Set<string>): string {
  const texts = telling.flatMap((name) => {
    const field = fields[name];
    const value = field && doc[inputName(name, field)];
    return typeof value === "string" ? [value] : Array.isArray(value) ? value.slice(0, 1).map(String) : [];
  });
  const words = texts.map(toSlug).find((word) => word !== "") ?? "";
  const base = [kind.replaceAll("_", "-"), ...(words === "" ? [] : [words])].join("-");
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
  taken.add(name);
  return name;
}

function toSlug(text: string): string {
  return text
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
}
