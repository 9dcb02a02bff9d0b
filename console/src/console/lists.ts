/** Lists of any kind, filtered and paged by the server. */
import { methodOf, readOptions } from "./api.ts";
import type { ApiObject } from "./api.ts";
import type { Description, Kind } from "./description.ts";

export interface ListPage {
  readonly items: readonly ApiObject[];
  /** Where the next page begins; undefined behind the last. */
  readonly nextBeforeId: string | undefined;
}

const mostFields = 8;

/** An expression for the server: the text in any of the fields that are texts or lists of texts; undefined without one. */
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

interface Wanted {
  readonly parents?: readonly string[];
  /** The next page of those that were found. */
  readonly before?: string | undefined;
  /** To be chosen from: as it is, whatever revision is looked at. */
  readonly isNow?: boolean;
}

/** The newest objects of a kind that have the text, a page of them. */
export async function newestOf(
  kind: Kind,
  description: Description,
  text: string,
  limit: number,
  { parents = [], before, isNow = false }: Wanted = {},
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
