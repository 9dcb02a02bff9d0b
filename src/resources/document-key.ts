/** What ties an object to its entry in a document of many objects (`POST /apply`). */
import { f } from "../schema/fields.ts";
import type { ResourceDeclaration } from "../schema/resource.ts";

/** `document/name` of the entry that made or adopted the object; null when none did. */
export const documentKeyField = "document_key";

/** The space in which documents' keys are claimed. */
export const documentKeySpace = "document key";

/** Whether documents can hold objects of the kind: what is configured, not handed out or reported. */
export function isDocumentKind(resource: ResourceDeclaration): boolean {
  const { live, internal, issued, operatorOnly, operations } = resource;
  if (live || internal || issued || operatorOnly) return false;
  return operations === undefined || (operations.includes("create") && operations.includes("delete"));
}

/** The resources, with a key that is stored for those that documents can hold. */
export function withDocumentKeys(resources: readonly ResourceDeclaration[]): readonly ResourceDeclaration[] {
  return resources.map((resource) => {
    if (!isDocumentKind(resource)) return resource;
    const { fields, claims } = resource;
    return {
      ...resource,
      fields: {
        ...fields,
        [documentKeyField]: f.nullableString("The object's key in a document.", { internal: true, maxBytes: 255 }),
      },
      claims(doc: never) {
        const key = doc[documentKeyField] as string | null | undefined;
        const own = claims?.(doc) ?? [];
        return key ? [...own, { space: documentKeySpace, name: key }] : own;
      },
    };
  });
}
