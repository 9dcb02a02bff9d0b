/**
 * Converts one site of Caddy to steps of a traffic policy. Caddy tries its routes in order, and each matcher sees the
 * changes of earlier handlers. So each route becomes a rule that sets a variable, and its handlers become rules that
 * read it.
 */
import { itemsAt, nodeAt, textAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";

import { allOf, always, anyOf, conditionOf, negate, Unsupported } from "./caddy-conditions.ts";
import type { Condition } from "./caddy-conditions.ts";
import { readHandler } from "./handlers.ts";
import type { ImportedSite, RouteScope } from "./imported-site.ts";

/** The route of every request. */
export const everyRequest = "";

export function readRoutes(site: ImportedSite, routes: readonly SourceNode[], parent: RouteScope | undefined): void {
  const { ledger, steps } = site;
  const groups = new Map<string, { readonly name: string; readonly before: Condition[] }>();
  for (const route of routes) {
    let condition: Condition;
    try {
      condition = parent
        ? conditionOf(itemsAt(route, "match"), "open")
        : conditionOf(setsFor(route, site.host), "chosen");
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
      omitRoute(site, route, error);
      continue;
    }
    ledger.say(nodeAt(route, "match"), "mapped", "condition of a rule in the traffic policy");
    for (const set of itemsAt(route, "match")) {
      if (!parent) ledger.say(nodeAt(set, "host"), "mapped", "hostports of an HTTPS edge");
    }
    ledger.say(nodeAt(route, "group"), "mapped", "only the first route of the group that matches is taken");
    ledger.say(nodeAt(route, "terminal"), "mapped", "no later route is tried");
    site.routes += 1;
    const given = textAt(route, "group");
    const group = given === undefined ? undefined : (groups.get(given) ?? { name: `g${site.routes}`, before: [] });
    if (given !== undefined && group) groups.set(given, group);
    const isEvery = condition === always && !group;
    const name = isEvery ? (parent?.route ?? everyRequest) : `r${site.routes}`;
    if (!isEvery)
      steps.push({ kind: "route", name, parent: parent?.route ?? everyRequest, group: group?.name, condition });
    const excluded = group && group.before.length > 0 ? negate(anyOf(group.before)) : always;
    const scope: RouteScope = {
      route: name,
      condition: allOf([parent?.condition ?? always, excluded, condition]),
      isMoved: parent?.isMoved ?? false,
    };
    group?.before.push(condition);
    for (const handler of itemsAt(route, "handle"))
      readHandler(site, handler, scope, (inner) => readRoutes(site, inner, scope));
    if (parent && scope.isMoved) parent.isMoved = true;
    if (textAt(route, "terminal") === "true" && name !== everyRequest) steps.push({ kind: "end", route: name });
  }
}

/** Returns the matcher sets of a server's route that can match a host. */
export function setsFor(route: SourceNode, host: string): readonly SourceNode[] {
  return itemsAt(route, "match").filter((set) => {
    const hosts = textsAt(set, "host").map((one) => one.toLowerCase());
    return hosts.length === 0 || hosts.includes(host);
  });
}

/** Requests of the route would fall through to later routes. The import cannot determine what the route protected. */
function omitRoute({ ledger }: ImportedSite, route: SourceNode, error: Unsupported): void {
  ledger.say(route, "left out", `the route is left out, because ${error.message}`);
  ledger.say(error.node, "left out", `${error.message}. Check what the route protects, and set it up by hand`, true);
}
