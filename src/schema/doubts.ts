/** Warnings about valid input that is probably unintended. The writer sees them, and nothing is refused. */
import { isDeepStrictEqual } from "node:util";
import type { Doc } from "./doc.ts";
import type { Fields, Issue } from "./fields.ts";
import type { ResourceDeclaration } from "./resource.ts";

/** Maximum number of warnings, because no one reads more. */
const maxDoubts = 20;

/**
 * Returns the warnings about the whole object, except those about fields that are equal in `before`.
 *
 * @param before the object before the write; undefined for a new object
 */
export function doubtsOf({ fields, doubts }: Doubted, doc: Doc, before: Doc | undefined): readonly Issue[] {
  const isSame = (name: string): boolean => before !== undefined && isDeepStrictEqual(doc[name], before[name]);
  const own = doubts?.(doc as never).filter(({ path }) => !isSame(/^\w*/.exec(path)?.[0] ?? "")) ?? [];
  const inside = Object.entries(fields).flatMap(([name, field]) => {
    const value = doc[name];
    if (field.type !== "object" || !field.doubts || value === null || value === undefined || isSame(name)) return [];
    return field.doubts(value as never).map((doubt) => ({ ...doubt, path: `${name}.${doubt.path}` }));
  });
  return [...own, ...inside].slice(0, maxDoubts);
}

/** Whether the resource can cause warnings. */
export function canBeDoubtful({ fields, doubts }: Doubted): boolean {
  return doubts !== undefined || hasDoubts(fields);
}

function hasDoubts(fields: Fields): boolean {
  return Object.values(fields).some((field) => field.type === "object" && field.doubts !== undefined);
}

type Doubted = Pick<ResourceDeclaration, "fields" | "doubts">;
