/** The document of an object: what is stored of it, complete by its declaration. */
import type { Field, Fields, StoredOf } from "./fields.ts";
import type { ResourceObject } from "./object.ts";
import type { ResourceDeclaration } from "./resource.ts";

/** Of any kind: every stored field present, references as ids under their input name. */
export type Doc = Readonly<Record<string, unknown>>;

/** A document of the resource `R`. */
export type DocOf<R> = R extends ResourceDeclaration<infer F> ? StoredOf<F> : never;

/**
 * The document of `object`, which is of `resource`, as the declaration says what it is.
 * @throws Error for an object of another kind: that is a fault of the caller's
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

/** What a field holds when nothing was given: also for fields that the server sets. */
export function emptyValue(field: Field): unknown {
  if (field.default !== undefined) return field.default;
  if (field.nullable) return null;
  return field.type === "object" ? emptyDoc(field.fields) : null;
}

/** A document with nothing but defaults in it. */
export function emptyDoc<F extends Fields>(fields: F): StoredOf<F> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => !field.live)
      .map(([name, field]) => [inputName(name, field), emptyValue(field)]),
  ) as StoredOf<F>;
}
