/** Paths that the edge answers by itself, whatever routes there are: one list, asked before routing. */
import type { Site } from "../../routing/sites/compiled.ts";
import type { CompiledModule } from "../../traffic/module.ts";

/** What answers at such a path: its hook ends every exchange. */
export type OwnedAnswer = Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">;

export interface OwnedPath {
  /**
   * `any_host`: asked before it is judged whether the host is what the connection was opened for, and for hosts that
   * nothing serves; it must show nothing that belongs to a site. `site`: asked for a request that has its site.
   */
  readonly scope: "any_host" | "site";
  /** @param host lower case @param path in canonical form @param site what serves the host, if it is `site`'s turn */
  find(host: string, path: string, site: Site | undefined): OwnedAnswer | undefined;
}

export interface OwnedPaths {
  forAnyHost(host: string, path: string): OwnedAnswer | undefined;
  ofSite(host: string, path: string, site: Site): OwnedAnswer | undefined;
}

/** Asked in this order; the first that answers has the path. */
export function makeOwnedPaths(list: readonly OwnedPath[]): OwnedPaths {
  const anyHost = list.filter(({ scope }) => scope === "any_host");
  const ofSite = list.filter(({ scope }) => scope === "site");
  const first = (
    among: readonly OwnedPath[],
    host: string,
    path: string,
    site: Site | undefined,
  ): OwnedAnswer | undefined => {
    for (const owned of among) {
      const found = owned.find(host, path, site);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    forAnyHost: (host, path) => first(anyHost, host, path, undefined),
    ofSite: (host, path, site) => first(ofSite, host, path, site),
  };
}
