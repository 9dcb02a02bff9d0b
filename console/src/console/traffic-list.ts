/** The requests of the traffic view: the newest ones as they end, and earlier ones on demand. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Page, Request } from "../../../sdk/src/index.ts";
import { explainError, postern } from "./api.ts";
import { trafficChanges } from "./live-changes.ts";

export interface Requests {
  /** Newest first; undefined while the first ones are loading. */
  readonly items: readonly Request[] | undefined;
  readonly hasMore: boolean;
  /** Why captured requests are missing, if they are. */
  readonly incomplete: Incomplete;
  readonly error: string;
  again(): void;
  /** Loads earlier requests. */
  more(): void;
}

type Incomplete = Page<Request>["incomplete"];
export type RequestFilter = Readonly<Record<string, string>>;

/** Maximum number of requests in the page. The earliest are dropped, and load again when the user scrolls there. */
export const mostRequests = 10_000;
const pageSize = 100;
/** Maximum number of pages of newer requests. With more of them, the list begins anew. */
const mostNewPages = 10;

interface List {
  /** The filter, as text. */
  readonly key: string;
  items: readonly Request[] | undefined;
  /** Where the next earlier page begins. Undefined after the last page. */
  earlier: string | undefined;
  incomplete: Incomplete;
  error: string;
  isLoading: boolean;
  /** What to load next. */
  next: Load | undefined;
}

type Load = (list: List) => Promise<void>;

export function useRequests(filter: RequestFilter): Requests {
  const key = JSON.stringify(filter);
  const current = useRef(listOf(key));
  const [, draw] = useState(0);
  const run = async (load: Load): Promise<void> => {
    const list = current.current;
    if (list.isLoading) {
      list.next = load;
      return;
    }
    list.isLoading = true;
    try {
      await load(list);
      list.error = "";
    } catch (failure) {
      list.error = explainError(failure).message;
    }
    list.isLoading = false;
    const { next } = list;
    list.next = undefined;
    // The user may have changed the filter in the meantime.
    if (current.current !== list) return;
    draw((count) => count + 1);
    if (next) await run(next);
  };
  useEffect(() => {
    if (current.current.key !== key) {
      current.current = listOf(key);
      draw((count) => count + 1);
    }
    void run(loadNewest);
  }, [key, trafficChanges.value]);
  const { items, earlier, incomplete, error } = current.current;
  const load = { again: () => void run(loadNewest), more: () => void run(loadEarlier) };
  return { items, hasMore: earlier !== undefined, incomplete, error, ...load };
}

function listOf(key: string): List {
  return {
    key,
    items: undefined,
    earlier: undefined,
    incomplete: undefined,
    error: "",
    isLoading: false,
    next: undefined,
  };
}

async function pageOf({ key }: List, before: string | undefined) {
  const filter = Object.entries(JSON.parse(key) as RequestFilter).filter(([, value]) => value !== "");
  const position = before === undefined ? {} : { before_id: before };
  return await postern.requests.list({ limit: pageSize, ...Object.fromEntries(filter), ...position }).page();
}

/** Adds the requests that have ended since the last load. */
async function loadNewest(list: List): Promise<void> {
  const known = list.items ?? [];
  const ids = new Set(known.map(({ id }) => id));
  const added: Request[] = [];
  let before: string | undefined;
  for (let pages = 0; pages < mostNewPages; pages += 1) {
    const page = await pageOf(list, before);
    const fresh = page.items.filter(({ id }) => !ids.has(id));
    added.push(...fresh);
    before = page.nextBeforeId;
    list.incomplete = page.incomplete;
    if (fresh.length < page.items.length) {
      keepItems(list, [...added, ...known], list.earlier);
      return;
    }
    if (before === undefined || known.length === 0) break;
  }
  keepItems(list, added, before);
}

async function loadEarlier(list: List): Promise<void> {
  const known = list.items ?? [];
  if (list.earlier === undefined || known.length >= mostRequests) return;
  const page = await pageOf(list, list.earlier);
  list.incomplete = page.incomplete;
  keepItems(list, [...known, ...page.items], page.nextBeforeId);
}

function keepItems(list: List, items: readonly Request[], earlier: string | undefined): void {
  list.items = items.slice(0, mostRequests);
  list.earlier = items.length > mostRequests ? list.items.at(-1)?.id : earlier;
}
