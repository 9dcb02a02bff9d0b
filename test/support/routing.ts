/** Configuration compiled as in an edge, without an edge. */
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { ModuleDeclaration } from "../../src/traffic/module.ts";
import type { CompiledRoute, ConnectionSite, RoutingTable, Site } from "../../src/routing/sites/compiled-site.ts";
import type { Problem } from "../../src/routing/planes/messages.ts";
import { makeRoutingTable } from "../../src/routing/routing-table.ts";
import type { ResourceObject } from "../../src/schema/object.ts";

/** Returns a routing table, filled object by object as by the control plane. */
export function tableOf(
  clock: Clock = systemClock,
  modules?: readonly ModuleDeclaration[],
): {
  readonly table: RoutingTable;
  readonly put: (
    object: Pick<ResourceObject, "kind" | "id"> & Partial<ResourceObject> & { gone?: boolean },
  ) => readonly Problem[];
} {
  const table = makeRoutingTable(clock, modules);
  let revision = 0;
  return {
    table,
    put({ kind, id, account_id = "ac_1", doc = {}, gone = false }) {
      revision += 1;
      const object = gone ? null : { kind, id, account_id, revision, doc };
      return table.change(revision, [{ kind, id, account_id, object }]);
    },
  };
}

/** Returns the HTTPS edge that serves a host name. */
export function httpsSite(table: RoutingTable, host: string): Site | undefined {
  const site = table.serving(host);
  return site?.kind === "https_edge" ? site : undefined;
}

/** Returns the TLS edge that serves a host name. */
export function tlsSite(table: RoutingTable, host: string): ConnectionSite | undefined {
  const site = table.serving(host);
  return site?.kind === "tls_edge" ? site : undefined;
}

/** Returns a route of the edge "h" with one module, compiled by a real routing table. */
export function routeWith(module: string, config: object, table = tableOf()): CompiledRoute {
  const doc = { edge_id: "edghts_1", match_type: "path_prefix", match: "/", [module]: { enabled: true, ...config } };
  table.put({ kind: "https_edge", id: "edghts_1", doc: { hostports: ["h:443"] } });
  table.put({ kind: "https_edge_route", id: "edghtsrt_1", doc });
  const route = httpsSite(table.table, "h")?.findRoute("/", "h");
  if (!route) throw new Error("find the route: it is not there");
  if (route.problem) throw new Error(route.problem.message);
  return route;
}
