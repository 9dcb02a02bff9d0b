/** A page of the objects that a filter accepts. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Refusal } from "../../lib/errors.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { Call, Reply } from "../operation/call.ts";
import type { ReadPage } from "../objects/read-page.ts";
import { once, pageBody, readPageQuery } from "../objects/pages.ts";
import { seesSecrets } from "../operation/scope.ts";
import type { Views } from "../objects/views.ts";
import { parseFilter } from "./parse.ts";
import { filterEnvironment } from "./types.ts";

export const filterQuery = ["filter"] as const;

/** Objects looked at before others get their turn. */
const stepObjects = 100;
/** Objects looked at for one page; the next page goes on after them. */
const maxObjects = 200_000;

/** Rejects with `Refusal` for a filter that cannot be read. `read`: a page of what the caller may see. */
export async function listFiltered(
  resource: ResourceDeclaration,
  place: { readonly path: string; readonly listKey: string; readonly more: string },
  call: Call,
  { views, store }: { readonly views: Views; readonly store: Pick<Store, "revision"> },
  read: ReadPage,
): Promise<Reply> {
  if (call.query.has("at_revision")) {
    throw new Refusal("query_invalid", `${call.operation.id}: "filter" and "at_revision" cannot be given together`);
  }
  const { limit, beforeId } = readPageQuery(call);
  const text = once(call, "filter") ?? "";
  // Of when it began: what is written meanwhile may be seen or not.
  const { revision } = store;
  const sees = seesSecrets(call.principal.scope);
  const accepts = parseFilter(text, filterEnvironment(resource.fields, resource.live === true, sees));
  // A name can be written by its characters' numbers.
  const view = views.partly(resource, (name) => text.includes(name) || text.includes("\\"));
  const found: StoredObject[] = [];
  let below = beforeId;
  let next: string | undefined;
  for (let looked = 0; ; looked += stepObjects) {
    const page = read({ limit: stepObjects, beforeId: below });
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
  const items = found.map((object) => views.json(object, call.baseUrl));
  const more = `&filter=${encodeURIComponent(text)}${place.more}`;
  const body = pageBody(call, place.path, place.listKey, items, { limit, nextBeforeId: next, more });
  return { status: 200, body, revision };
}
