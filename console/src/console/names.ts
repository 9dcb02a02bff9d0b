/** Names of objects by their ids, which pages show instead of the ids. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { atRevision, methodOf, postern, readOptions } from "./api.ts";
import type { ApiObject } from "./api.ts";
import { kindOfId } from "./description.ts";
import type { Description } from "./description.ts";
import { labelOf } from "./label.ts";
import { configurationChanges } from "./live-changes.ts";
import { linkTo } from "./router.ts";

export interface Named {
  readonly text: string;
  readonly href: string;
}

const names = signal<ReadonlyMap<string, Named>>(new Map());
/** Ids that were requested since the last change. */
const requested = new Set<string>();
let waiting: string[] = [];
let state = "";

/** The filter of a list has at most 1,000 characters, and 10,000 steps for an edge with its routes. */
const mostTogether = 20;
const mostRoutesTogether = 5;

/** Returns the name and the link of an object; undefined while it loads, and for objects that do not exist any more. */
export function useName(id: string, description: Description): Named | undefined {
  const at = `${configurationChanges.value} ${atRevision.value}`;
  useEffect(() => request(id, at, description), [id, at]);
  return names.value.get(id);
}

function request(id: string, at: string, description: Description): void {
  if (at !== state) requested.clear();
  state = at;
  if (requested.has(id)) return;
  requested.add(id);
  waiting.push(id);
  if (waiting.length > 1) return;
  // All components of a view request their names in the same task.
  setTimeout(() => {
    const ids = waiting;
    waiting = [];
    void load(ids, description);
  });
}

async function load(ids: readonly string[], description: Description): Promise<void> {
  const kinds = new Set(ids.map((id) => kindOfId(id, description) ?? ""));
  const loads = [...kinds].flatMap((kind) => {
    const all = ids.filter((id) => kindOfId(id, description) === kind);
    const isRoute = kind === "https_edge_route";
    return chunksOf(all, isRoute ? mostRoutesTogether : mostTogether).map((some) =>
      isRoute ? routesOf(some) : objectsOf(kind, some, description),
    );
  });
  // An id whose object cannot be read stays an id.
  const found = await Promise.all(loads.map((one) => one.catch(() => [])));
  names.value = new Map([...names.value, ...found.flat()]);
}

type Entry = readonly [id: string, named: Named];

async function objectsOf(name: string, ids: readonly string[], description: Description): Promise<readonly Entry[]> {
  const kind = description.kinds.get(name);
  if (kind?.list === undefined || kind.parents > 0) return [];
  const filter = `obj.id in ${JSON.stringify(ids)}`;
  const listing = methodOf(kind.list)({ limit: 100, filter, ...readOptions(kind.list) }) as {
    page(): Promise<{ readonly items: readonly ApiObject[] }>;
  };
  return (await listing.page()).items.map((one) => {
    const href = name === "https_edge" ? linkTo("edges", one.id) : linkTo("objects", name, one.id);
    return [one.id, { text: labelOf(one), href }];
  });
}

/** Routes are parts of their edges. */
async function routesOf(ids: readonly string[]): Promise<readonly Entry[]> {
  const filter = `obj.routes.exists(one, one.id in ${JSON.stringify(ids)})`;
  const edges = await postern.edges.https.list({ limit: 100, filter, ...readOptions("listHTTPSEdges") }).page();
  return edges.items.flatMap(({ id: edgeId, hostports, routes }) =>
    routes
      .filter(({ id }) => ids.includes(id))
      .map(({ id, match, description }) => {
        const host = (hostports?.[0] ?? "").replace(/:443$/, "");
        return [id, { text: description || host + match, href: linkTo("edges", edgeId, id) }] as const;
      }),
  );
}

function chunksOf<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}
