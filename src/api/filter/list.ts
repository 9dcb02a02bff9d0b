/** A page of the objects that a filter accepts. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Call, Reply } from "../operation/call.ts";
import type { Looked } from "../objects/read-page.ts";
import { once, pageBody, readPageQuery } from "../objects/pages.ts";
import { seesSecrets } from "../operation/scope.ts";
import { parseFilter } from "./parse.ts";
import { filterEnvironment } from "./types.ts";

export const filterQuery = ["filter"] as const;

/** Objects looked at before others get their turn. */
const stepObjects = 100;
/** Objects looked at for one page; the next page goes on after them. */
const maxObjects = 200_000;

/** Rejects with `Refusal` for a filter that cannot be read. `looked`: what the caller may see. */
export async function listFiltered(
  resource: ResourceDeclaration,
  place: { readonly path: string; readonly listKey: string; readonly more: string },
  call: Call,
  { revision, read, viewsOf }: Looked,
): Promise<Reply> {
  const { limit, beforeId } = readPageQuery(call);
  const text = once(call, "filter") ?? "";
  const sees = seesSecrets(call.principal.scope);
  const accepts = parseFilter(text, filterEnvironment(resource.fields, resource.live === true, sees));
  // A name can be written by its characters' numbers.
  const isNamed = (name: string): boolean => text.includes(name) || text.includes("\\");
  const found: StoredObject[] = [];
  let below = beforeId;
  let next: string | undefined;
  for (let looked = 0; ; looked += stepObjects) {
    const page = await read({ limit: stepObjects, beforeId: below });
    const view = (await viewsOf(page.objects)).partly(resource, isNamed);
    for (const object of page.objects) {
      if (!accepts(view(object, call.baseUrl))) continue;
      if (found.length === limit) {
        next = found.at(-1)?.id;
        break;
      }
      found.push(object);
    }
    below = page.objects.at(-1)?.id;
    if (next !== undefined || !page.more) break;
    if (looked >= maxObjects) {
      next = below;
      break;
    }
    await nextTurn();
  }
  const views = await viewsOf(found);
  const items = found.map((object) => views.json(object, call.baseUrl));
  const more = `&filter=${encodeURIComponent(text)}${place.more}`;
  const body = pageBody(call, place.path, place.listKey, items, { limit, nextBeforeId: next, more });
  return { status: 200, body, revision };
}
