/** Links an object to its entry in a document of several objects (`POST /apply`). */
import { f } from "../schema/fields.ts";
import type { ResourceDeclaration } from "../schema/resource.ts";

/** `document/name` of the entry that created or adopted the object, or null. */
export const documentKeyField = "document_key";

/** Claim space for documents' keys. */
export const documentKeySpace = "document key";

/** Whether documents can contain objects of the kind: configured objects, not issued or reported ones. */
export function isDocumentKind(resource: ResourceDeclaration): boolean {
  const { live, internal, issued, operatorOnly, operations } = resource;
  if (live || internal || issued || operatorOnly) return false;
  return operations === undefined || (operations.includes("create") && operations.includes("delete"));
}

/** Adds a stored key to the resources that documents can contain. */
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
