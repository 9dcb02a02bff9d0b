/** Finds HTTPS edges with a route that has a module. The server filters them. */
import type { HTTPSEdge } from "../../../sdk/src/index.ts";
import { postern } from "./api.ts";

const pageSize = 100;

/**
 * Returns the newest edges of several pages, and whether there are more.
 * @param modules a route of each edge has at least one of them
 */
export async function edgesWith(
  modules: readonly string[],
  pages: number,
): Promise<{ readonly items: readonly HTTPSEdge[]; readonly more: boolean }> {
  const has = modules.map((name) => `route.${name} != null`).join(" || ");
  const filter = `obj.routes.exists(route, ${has})`;
  const items: HTTPSEdge[] = [];
  let before: string | undefined;
  for (let at = 0; at < pages; at += 1) {
    const options = { limit: pageSize, filter, ...(before !== undefined && { before_id: before }) };
    const page = await postern.edges.https.list(options).page();
    items.push(...page.items);
    before = page.nextBeforeId;
    if (before === undefined) break;
  }
  return { items, more: before !== undefined };
}
