/** Planned or made changes, in words. */
import { quoteValue } from "./quote-value.ts";

export interface ObjectChange {
  readonly action: "create" | "update" | "delete" | "unchanged";
  readonly kind: string;
  readonly name?: string | null;
  readonly id: string;
  readonly fields: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
}

const maxObjects = 40;
const maxFields = 20;
const verbs = { create: "Create", update: "Change", delete: "Delete" } as const;

/** One line per object and one per changed field. */
export function changeLines(changes: readonly ObjectChange[]): readonly string[] {
  const real = changes.filter(({ action }) => action !== "unchanged");
  const lines = real.slice(0, maxObjects).flatMap(({ action, kind, name, id, fields }) => {
    const what = [kind, name && quoteValue(name), id].filter(Boolean).join(" ");
    const head = `- ${verbs[action as keyof typeof verbs]} ${what}`;
    if (action === "delete") return [head];
    const shown = fields.slice(0, maxFields).map(({ path, before, after }) => {
      const value = action === "create" ? quoteValue(after) : `from ${quoteValue(before)} to ${quoteValue(after)}`;
      return `  - ${path}: ${value}`;
    });
    const rest = fields.length - shown.length;
    return [head, ...shown, ...(rest > 0 ? [`  - … and ${rest} more fields`] : [])];
  });
  const rest = real.length - maxObjects;
  if (rest > 0) lines.push(`… and ${rest} more objects`);
  return lines.length > 0 ? lines : ["Nothing changes."];
}

/** Counts, such as "1 created, 2 changed, 0 deleted". */
export function countsOf({ create, update, delete: gone }: Readonly<Record<string, number>>): string {
  return `${create} to create, ${update} to change, ${gone} to delete`;
}
