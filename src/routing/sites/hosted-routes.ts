import type { LoginGuard } from "../../traffic/login.ts";
import type { CompiledRoute } from "./compiled-site.ts";
import { HostMap } from "./host-map.ts";
import { RouteIndex } from "./route-index.ts";

/** The place of a route: which requests it matches. */
export interface RoutePlace {
  readonly type: string;
  /** Lower case. `*.example.com` for all names below; "" for any host. */
  readonly host: string;
  /** Canonical. */
  readonly path: string;
}

/**
 * The routes of one edge. Routes with the request's host come first, then those with the longest wildcard over it, and
 * so on, then those without a host. If no route of a group matches the path, the next group is searched.
 */
export class HostedRoutes {
  readonly #anywhere = new RouteIndex();
  /** Created with the first route that has a host, because many edges have none. */
  #hosted: HostMap<RouteIndex> | undefined;
  #logins: readonly LoginGuard[] = noLogins;

  /** Login guards of its routes. The list is replaced by each change. */
  get logins(): readonly LoginGuard[] {
    return this.#logins;
  }

  get hasHosts(): boolean {
    return this.#hosted !== undefined;
  }

  /** Assigns the place, unless another route has it. Then returns that route. */
  put({ type, host, path }: RoutePlace, route: CompiledRoute): CompiledRoute | undefined {
    const present = this.#indexFor(host).put(type, path, route);
    const own = present === undefined || present === route ? loginsOf(route) : noLogins;
    if (own.length > 0) this.#logins = [...this.#logins.filter((one) => !own.includes(one)), ...own];
    return present;
  }

  /** Undoes `put`. Does nothing if `route` never got the place. */
  remove({ type, host, path }: RoutePlace, route: CompiledRoute): void {
    const own = loginsOf(route);
    if (own.length > 0) this.#logins = this.#logins.filter((one) => !own.includes(one));
    if (host === "") return this.#anywhere.remove(type, path, route);
    const index = this.#hosted?.get(host);
    if (!this.#hosted || !index) return;
    index.remove(type, path, route);
    if (!index.isEmpty) return;
    this.#hosted.remove(host, index);
    if (this.#hosted.isEmpty) this.#hosted = undefined;
  }

  /** Returns the route for a canonical path and a host in lower case. */
  find(path: string, host: string): CompiledRoute | undefined {
    return (this.#hosted && findHosted(this.#hosted, path, host)) ?? this.#anywhere.find(path);
  }

  /**
   * Whether the route of a request to the host depends on its path. True if any route for it has another path than `/`,
   * or matches only `/` itself.
   */
  tellsPathsApart(host: string): boolean {
    if (!this.#anywhere.isWhole) return true;
    const hosted = this.#hosted;
    return hosted !== undefined && [...indexesOver(hosted, host)].some((index) => !index.isWhole);
  }

  #indexFor(host: string): RouteIndex {
    if (host === "") return this.#anywhere;
    const hosted = (this.#hosted ??= new HostMap());
    const fresh = new RouteIndex();
    return hosted.put(host, fresh) ?? fresh;
  }
}

const noLogins: readonly LoginGuard[] = Object.freeze([]);

function loginsOf({ request }: CompiledRoute): readonly LoginGuard[] {
  return request.some(({ logins }) => logins !== undefined) ? request.flatMap(({ logins = [] }) => logins) : noLogins;
}

function* indexesOver(hosted: HostMap<RouteIndex>, host: string): Iterable<RouteIndex> {
  const exact = hosted.exact(host);
  if (exact) yield exact;
  for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
    const wildcard = hosted.wildcard(host, dot);
    if (wildcard) yield wildcard;
  }
}

function findHosted(hosted: HostMap<RouteIndex>, path: string, host: string): CompiledRoute | undefined {
  let found = hosted.exact(host)?.find(path);
  for (let dot = host.indexOf("."); !found && dot >= 0; dot = host.indexOf(".", dot + 1)) {
    found = hosted.wildcard(host, dot)?.find(path);
  }
  return found;
}
