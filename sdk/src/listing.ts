/** A list that is read page by page during iteration. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Value for `before_id` of the next page; undefined on the last page. */
  readonly nextBeforeId: string | undefined;
  /** Why a page of traffic may lack entries. Undefined if it does not, and for all other lists. */
  readonly incomplete?: { readonly reason: string; readonly searched_to: string | null };
}

export interface Listing<T> extends AsyncIterable<T> {
  /** The first page. */
  page(): Promise<Page<T>>;
  pages(): AsyncIterable<Page<T>>;
  /** Returns the objects of all pages, in memory. */
  all(): Promise<T[]>;
}

/** @param read called with the query of one page */
export function makeListing<T>(
  first: URLSearchParams,
  listKey: string,
  read: (query: URLSearchParams) => Promise<unknown>,
): Listing<T> {
  const pageOf = async (query: URLSearchParams): Promise<Page<T>> => {
    const body = (await read(query)) as Readonly<Record<string, unknown>>;
    const incomplete = body["incomplete"] as Page<T>["incomplete"] | null;
    return {
      items: body[listKey] as readonly T[],
      nextBeforeId: nextBeforeId(body["next_page_uri"]),
      ...(incomplete && { incomplete }),
    };
  };
  async function* pages(): AsyncGenerator<Page<T>> {
    let query: URLSearchParams | undefined = first;
    while (query) {
      const page: Page<T> = await pageOf(query);
      yield page;
      const next: string | undefined = page.nextBeforeId;
      query = next === undefined ? undefined : new URLSearchParams([...first].filter(([name]) => name !== "before_id"));
      query?.set("before_id", next as string);
    }
  }
  return {
    page: () => pageOf(first),
    pages,
    async all() {
      const all: T[] = [];
      for await (const page of pages()) all.push(...page.items);
      return all;
    },
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.items;
    },
  };
}

/** Only the position is read from the URI, so that the key is never sent to an address in a response. */
function nextBeforeId(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  return new URLSearchParams(uri.slice(uri.indexOf("?") + 1)).get("before_id") ?? undefined;
}
