/** Returns a page of the objects that a filter accepts. */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Call, Reply } from "../operation/call.ts";
import type { Looked } from "../objects/read-page.ts";
import { Walk } from "../objects/walk.ts";
import { readOnce, pageBody, readPageQuery } from "../objects/page-query.ts";
import { seesSecrets } from "../operation/scope.ts";
import { parseFilter } from "./parse-filter.ts";
import { filterEnvironment } from "./filter-types.ts";

export const filterQuery = ["filter"] as const;

/**
 * Rejects with `Refusal` if the filter is invalid.
 *
 * @param holds whether the caller may see the object and other parameters select it
 */
export async function listFiltered(
  resource: ResourceDeclaration,
  place: { readonly path: string; readonly listKey: string; readonly more: string },
  call: Call,
  { revision, read, viewsOf }: Looked,
  holds: (object: StoredObject) => boolean,
): Promise<Reply> {
  const { limit, beforeId } = readPageQuery(call);
  const text = readOnce(call, "filter") ?? "";
  const sees = seesSecrets(call.principal.scope);
  const accepts = parseFilter(text, filterEnvironment(resource.fields, resource.live === true, sees));
  // A name in the text may be written with character escapes.
  const isNamed = (name: string): boolean => text.includes(name) || text.includes("\\");
  const { objects, next } = await new Walk({ limit, beforeId }).finish(read, async (page) => {
    const view = (await viewsOf(page)).partly(resource, isNamed);
    return (object) => holds(object) && accepts(view(object, call.baseUrl));
  });
  const views = await viewsOf(objects);
  const items = objects.map((object) => views.json(object, call.baseUrl));
  const more = `&filter=${encodeURIComponent(text)}${place.more}`;
  const body = pageBody(call, place.path, place.listKey, items, { limit, nextBeforeId: next, more });
  return { status: 200, body, revision };
}
