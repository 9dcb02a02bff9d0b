/** HTTPS edges for views that look into their routes, page by page: routes are in no list that could be filtered. */
import type { HTTPSEdge } from "../../../sdk/src/index.ts";
import { postern } from "./api.ts";

const pageSize = 100;

/** The newest of so many pages, and whether there are others. */
export async function edgesUpTo(
  pages: number,
): Promise<{ readonly items: readonly HTTPSEdge[]; readonly more: boolean }> {
  const items: HTTPSEdge[] = [];
  let before: string | undefined;
  for (let at = 0; at < pages; at += 1) {
    const options = { limit: pageSize, ...(before !== undefined && { before_id: before }) };
    const page = await postern.edges.https.list(options).page();
    items.push(...page.items);
    before = page.nextBeforeId;
    if (before === undefined) break;
  }
  return { items, more: before !== undefined };
}
