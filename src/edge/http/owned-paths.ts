/** Paths that the edge answers itself on every route. One list, checked before routing. */
import type { Site } from "../../routing/sites/compiled-site.ts";
import type { CompiledModule } from "../../traffic/module.ts";

/** Handler of such a path. Its hook ends every exchange. */
export type OwnedAnswer = Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">;

export interface OwnedPath {
  /**
   * `any_host`: checked before the host is compared with the connection's, and for unknown hosts. The response must
   * contain nothing that belongs to a site. `site`: checked for a request whose site is known.
   */
  readonly scope: "any_host" | "site";
  /**
   * @param host lower case
   * @param path in canonical form
   * @param site the host's site, for entries of scope `site`
   */
  find(host: string, path: string, site: Site | undefined): OwnedAnswer | undefined;
}

export interface OwnedPaths {
  forAnyHost(host: string, path: string): OwnedAnswer | undefined;
  ofSite(host: string, path: string, site: Site): OwnedAnswer | undefined;
}

/** Checked in this order. The first match answers. */
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
