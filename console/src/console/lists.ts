/** Lists of any kind, filtered and paged by the server. */
import { methodOf, readOptions } from "./api.ts";
import type { ApiObject } from "./api.ts";
import type { Description, Kind } from "./description.ts";

export interface ListPage {
  readonly items: readonly ApiObject[];
  /** Position of the next page; undefined after the last. */
  readonly nextBeforeId: string | undefined;
}

const mostFields = 8;

/**
 * Returns a filter expression for the server: the text occurs in any field that is a text or a list of texts. Returns
 * undefined without a text.
 */
export function filterOf(text: string, kind: Kind, { resolve }: Description): string | undefined {
  if (text === "") return undefined;
  const quoted = JSON.stringify(text);
  const conditions = Object.entries(kind.shown.properties ?? {}).flatMap(([name, given]) => {
    const field = resolve(given);
    if (field["x-secret"] || field["x-sensitive" as "x-secret"] || name === "uri" || name === "created_at") return [];
    const isOf = (type: string): boolean => [field.type].flat().includes(type);
    if (isOf("string")) return [`obj.${name}.contains(${quoted})`];
    const isList = isOf("array") && resolve(field.items ?? {}).type === "string";
    return isList ? [`obj.${name}.exists(one, one.contains(${quoted}))`] : [];
  });
  return conditions.slice(0, mostFields).join(" || ");
}

interface ListQuery {
  readonly parents?: readonly string[];
  /** Position of the next page of results. */
  readonly before?: string | undefined;
  /** Whether to list current objects even if a past revision is shown, for a selection. */
  readonly isNow?: boolean;
}

/** Returns one page of the newest objects of a kind that contain the text. */
export async function loadNewest(
  kind: Kind,
  description: Description,
  text: string,
  limit: number,
  { parents = [], before, isNow = false }: ListQuery = {},
): Promise<ListPage> {
  const filter = filterOf(text, kind, description);
  if (filter === "") return { items: [], nextBeforeId: undefined };
  const options = {
    limit,
    ...(before !== undefined && { before_id: before }),
    ...(filter !== undefined && { filter }),
    ...(!isNow && readOptions(kind.list ?? "")),
  };
  return await (methodOf(kind.list ?? "")(...parents, options) as { page(): Promise<ListPage> }).page();
}
