/**
 * Names of the objects that a candidate changes. Objects that it would create have provisional ids, which cannot be
 * looked up. Results have their names in the document instead.
 */
import type { Change } from "../../storage/store.ts";
import { keyOfStored } from "../documents/document.ts";

export interface ChangedName {
  /** Name in the document. Undefined for objects that follow from others, or of no document. */
  readonly name: string | undefined;
  /** Text instead of the provisional id. Undefined for objects that exist. */
  readonly insteadOfId: string | undefined;
}

/** Names by id. Plain data. */
export type ChangedNames = Readonly<Record<string, ChangedName>>;

export function namesOf(changes: readonly Change[]): ChangedNames {
  return Object.fromEntries(
    changes.map(({ kind, id, before, after }) => {
      const object = after ?? before;
      const key = object && keyOfStored(object);
      const name = key?.slice(key.indexOf("/") + 1);
      return [id, { name, insteadOfId: before ? undefined : (name ?? `new ${kind}`) }];
    }),
  );
}

const ids = /\b[a-z]+_[0-9a-zA-Z]{20,}\b/g;

/** Returns the value with names instead of provisional ids in all its texts. */
export function withNames<T>(value: T, names: ChangedNames): T {
  const named = (one: unknown): unknown => {
    if (typeof one === "string") return one.replace(ids, (id) => names[id]?.insteadOfId ?? id);
    if (Array.isArray(one)) return one.map(named);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, item]) => [key, named(item)]));
  };
  return named(value) as T;
}
