/** What is right in an input, and probably not meant: told to whoever writes it, and not refused. */
import { isDeepStrictEqual } from "node:util";
import type { Doc } from "./doc.ts";
import type { Fields, Issue } from "./fields.ts";
import type { ResourceDeclaration } from "./resource.ts";

/** More would not be read by anybody. */
const maxDoubts = 20;

/**
 * Of the whole object, but for what is about a field that is the same in `before`.
 *
 * @param before the object before the write; undefined for one that is new
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

/** Whether anything of the resource can be doubtful. */
export function canBeDoubtful({ fields, doubts }: Doubted): boolean {
  return doubts !== undefined || hasDoubts(fields);
}

function hasDoubts(fields: Fields): boolean {
  return Object.values(fields).some((field) => field.type === "object" && field.doubts !== undefined);
}

type Doubted = Pick<ResourceDeclaration, "fields" | "doubts">;
