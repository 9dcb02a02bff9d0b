/** Imports the JSON configuration of Caddy, as `caddy adapt` prints it: edges, routes, backends and policies. */
import type { JsonObject } from "../../lib/json.ts";
import { readJsonTree } from "../formats/json-tree.ts";
import { entriesAt, itemsAt, nodeAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { Ledger } from "../ledger/ledger.ts";
import { Names } from "../report/unique-names.ts";
import type { Imported } from "../report/report.ts";
import { ImportIssue } from "../report/report.ts";
import { Secrets } from "../report/secrets-file.ts";
import { Backends } from "./caddy-backends.ts";
import { CaddyAuthorities, tlsOf } from "./caddy-tls.ts";
import { caddyKeys } from "./caddy-keys.ts";
import { edgeRoutes, policyFor } from "./policy.ts";
import { readRoutes, setsFor } from "./site.ts";
import type { ImportedSite } from "./imported-site.ts";

export function importCaddy(file: string, text: string, document: string): Imported {
  if (!text.trimStart().startsWith("{")) {
    throw new ImportIssue(
      { file },
      "this is not JSON: run `caddy adapt --config Caddyfile > caddy.json`, and import caddy.json",
    );
  }
  const root = readJsonTree(file, text);
  const ledger = new Ledger(caddyKeys);
  const secrets = new Secrets();
  const names = new Names();
  const backends = new Backends(names);
  const edges: Record<string, JsonObject> = {};
  const routes: Record<string, JsonObject> = {};
  const served = new Set<string>();
  const authorities = new CaddyAuthorities(names);
  for (const { node: server } of entriesAt(root, "apps.http.servers")) {
    const all = itemsAt(server, "routes");
    const sites = hostsOf(all);
    if (sites.length === 0 && all.length > 0) {
      ledger.say(
        nodeAt(server, "routes"),
        "left out",
        "the routes have no host: edges answer at host names. Add a host to the site, and import again",
      );
    }
    for (const { hosts, routes: own } of sites) {
      const free = hosts.filter((host) => !served.has(host));
      const [host] = free;
      if (host === undefined) {
        for (const route of own)
          ledger.say(
            route,
            "left out",
            `${hosts.join(", ")} is already imported from another server of the file: merge the two by hand`,
            true,
          );
        continue;
      }
      for (const one of free) served.add(one);
      const site: ImportedSite = { host, steps: [], proxies: [], ledger, secrets, compresses: false, routes: 0 };
      readRoutes(site, own, undefined);
      const edge = names.take([host]);
      edges[edge] = { hostports: free.map((one) => `${one}:443`), ...tlsOf(server, free, ledger, authorities) };
      for (const { match_type, match, proxy } of edgeRoutes(site)) {
        if (proxy !== undefined && match.includes("/") && match !== "/") reportRoute(site, proxy, match);
        const policy = policyFor(site, proxy);
        routes[names.take([host, match_type === "exact_path" ? `exact ${match}` : match === "/" ? "all" : match])] = {
          edge_id: edge,
          match_type,
          match,
          ...(proxy !== undefined && { backend: { backend_id: backends.nameOf(site, proxy) } }),
          ...(site.compresses && { compression: {} }),
          ...(policy && { traffic_policy: { value: { $json: policy } } }),
        };
      }
      backends.sayUnused(site);
    }
  }
  const objects = { ...authorities.objects(), ...backends.objects(), https_edge: edges, https_edge_route: routes };
  const report = ledger.finish(root);
  if (Object.keys(edges).length === 0) return { secrets: [], report };
  const written = JSON.stringify(objects);
  const needed = secrets.found.filter(({ name }) => written.includes(`"${name}"`));
  return { document: { document, objects }, secrets: needed, report };
}

function reportRoute({ proxies, ledger }: ImportedSite, proxy: number, match: string): void {
  const text = `backend of the edge's route ${match}. The edge compares whole segments, with case. Other paths that Caddy sends there, such as ${match.slice(match.indexOf("/")).toUpperCase()}, get 502`;
  ledger.say(nodeAt(proxies[proxy]?.node, "handler"), "mapped differently", text);
}

/**
 * Returns groups of hosts that the same routes serve, in the order of the file. Routes without a host belong to every
 * host.
 */
function hostsOf(
  routes: readonly SourceNode[],
): { readonly hosts: readonly string[]; readonly routes: readonly SourceNode[] }[] {
  const named = routes.map((route) =>
    itemsAt(route, "match").flatMap((set) => textsAt(set, "host").map((host) => host.toLowerCase())),
  );
  const sites = new Map<string, { readonly hosts: string[]; readonly routes: readonly SourceNode[] }>();
  for (const host of new Set(named.flat())) {
    const own = routes.filter((route) => itemsAt(route, "match").length === 0 || setsFor(route, host).length > 0);
    // Hosts with different matchers for the same route are separate sites.
    const key = routes
      .map((route) =>
        setsFor(route, host)
          .map(({ place }) => place.pointer)
          .join(),
      )
      .join(";");
    const known = sites.get(key);
    if (known) known.hosts.push(host);
    else sites.set(key, { hosts: [host], routes: own });
  }
  return [...sites.values()];
}
