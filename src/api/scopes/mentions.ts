import type { Fields, NamedSecret } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";

/** Returns ids that texts in a document mention. These are not references and do not prevent deletion. */
export function findMentionedIds(fields: Fields, doc: Doc): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const value = doc[name];
    if (value === null || value === undefined || field.live) return [];
    if (field.type === "object") return findMentionedIds(field.fields, value as Doc);
    const { sensitive } = field;
    return typeof sensitive === "object" ? (sensitive.mentions?.(value as string) ?? []) : [];
  });
}

/** Returns secrets that texts in a document make the edge read, except texts that are unchanged from `before`. */
export function findNewSecrets(fields: Fields, doc: Doc, before: Doc | undefined): readonly NamedSecret[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const value = doc[name];
    if (value === null || value === undefined || field.live) return [];
    const previous = before?.[name];
    if (field.type === "object") return findNewSecrets(field.fields, value as Doc, (previous ?? undefined) as Doc);
    const { sensitive } = field;
    if (typeof sensitive !== "object" || value === previous) return [];
    return sensitive.secrets?.(value as string) ?? [];
  });
}
