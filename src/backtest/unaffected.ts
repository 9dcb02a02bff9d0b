/**
 * Finds the routes that the candidate does not affect. Compiling again creates a new object, and a route is compiled
 * again whenever something changes that it was compiled from. Its requests need not be decided twice.
 */
import type { RoutingChange } from "../routing/planes/messages.ts";
import type { CompiledRoute, RoutingTable } from "../routing/sites/compiled-site.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { ReplayedExchange } from "./replayed-exchange.ts";
import type { World } from "./world.ts";

/** Read while a request is decided, not when its route is compiled. */
const readLate: ReadonlySet<string> = new Set(["secret", "vault"]);

export class Unaffected {
  readonly #candidate: World;
  readonly #routes: ReadonlySet<CompiledRoute>;

  /** Applies the changes to the candidate's table. */
  constructor(
    candidate: World,
    revision: number,
    objects: readonly ResourceObject[],
    changes: readonly RoutingChange[],
  ) {
    const { table } = candidate;
    const ids = objects.flatMap(({ kind, id }) =>
      kind === "https_edge_route" || kind === "cloud_endpoint" ? [id] : [],
    );
    const before = new Map(ids.map((id) => [id, routeOf(table, id)]));
    table.change(revision + 1, changes);
    const isLate = changes.some(({ kind }) => readLate.has(kind));
    const same = isLate
      ? []
      : [...before].flatMap(([id, route]) => (route !== undefined && routeOf(table, id) === route ? [route] : []));
    this.#candidate = candidate;
    this.#routes = new Set(same);
  }

  /** Whether the candidate decides the request in the same way as the present configuration. */
  covers(before: ReplayedExchange): boolean {
    const { request, route, site, owned, steps } = before;
    if (route === undefined || site === undefined || owned !== undefined || request.isEncoded) return false;
    // Another endpoint of the account has decided as well.
    if (before.isForwarded || steps.length === 0) return false;
    const other = this.#candidate.siteAt(request.host, site.id);
    if (other?.id !== site.id || other.problem !== undefined || site.problem !== undefined) return false;
    if ((other.logins?.length ?? 0) > 0 !== (site.logins?.length ?? 0) > 0) return false;
    const found = other.findRoute(request.path, request.host);
    return found !== undefined && this.#routes.has(found) && found.id === route.id;
  }
}

function routeOf(table: RoutingTable, id: string): CompiledRoute | undefined {
  const place = table.placeOfRoute(id);
  if (place === undefined) return undefined;
  const found = place.site.findRoute(place.path, sampleHost(place.host, place.site.hosts));
  return found?.id === id ? found : undefined;
}

/** Returns a host that the route serves. */
function sampleHost(host: string, hosts: readonly string[]): string {
  return (host === "" ? (hosts[0] ?? "") : host).replace(/^\*\./, "any.");
}
