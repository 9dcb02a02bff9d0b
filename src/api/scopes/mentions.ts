import type { Fields, NamedSecret } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";

/** What the texts in a document name by id, which are no references: nothing holds on to it. */
export function mentionedIds(fields: Fields, doc: Doc): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const value = doc[name];
    if (value === null || value === undefined || field.live) return [];
    if (field.type === "object") return mentionedIds(field.fields, value as Doc);
    const { sensitive } = field;
    return typeof sensitive === "object" ? (sensitive.mentions?.(value as string) ?? []) : [];
  });
}

/** Secrets that texts in a document have the edge read, but for texts that are the same in `before`. */
export function newlyReadSecrets(fields: Fields, doc: Doc, before: Doc | undefined): readonly NamedSecret[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const value = doc[name];
    if (value === null || value === undefined || field.live) return [];
    const previous = before?.[name];
    if (field.type === "object") return newlyReadSecrets(field.fields, value as Doc, (previous ?? undefined) as Doc);
    const { sensitive } = field;
    if (typeof sensitive !== "object" || value === previous) return [];
    return sensitive.secrets?.(value as string) ?? [];
  });
}
