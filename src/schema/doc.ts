/** The stored document of an object, complete according to its declaration. */
import type { Field, Fields, StoredOf } from "./fields.ts";
import type { ResourceObject } from "./object.ts";
import type { ResourceDeclaration } from "./resource.ts";

/** Any document: every stored field is present, and references are ids under their input name. */
export type Doc = Readonly<Record<string, unknown>>;

/** A document of the resource `R`. */
export type DocOf<R> = R extends ResourceDeclaration<infer F> ? StoredOf<F> : never;

/**
 * Returns the document of `object` with the type of `resource`.
 * @throws Error for an object of another kind, which is a bug of the caller
 */
export function docOf<F extends Fields>(
  object: Pick<ResourceObject, "kind" | "doc">,
  resource: Pick<ResourceDeclaration<F>, "name" | "fields">,
): StoredOf<F> {
  if (object.kind !== resource.name) throw new Error(`read a ${resource.name}: the object is a ${object.kind}`);
  return object.doc as StoredOf<F>;
}

/** The name of a field in input and storage. */
export function inputName(name: string, field: Field): string {
  return field.type === "ref" || field.type === "refList" ? field.input : name;
}

/** The value of a field that was not given, including fields that the server sets. */
export function emptyValue(field: Field): unknown {
  if (field.default !== undefined) return field.default;
  if (field.nullable) return null;
  return field.type === "object" ? emptyDoc(field.fields) : null;
}

/** A document with default values only. */
export function emptyDoc<F extends Fields>(fields: F): StoredOf<F> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => !field.live)
      .map(([name, field]) => [inputName(name, field), emptyValue(field)]),
  ) as StoredOf<F>;
}
