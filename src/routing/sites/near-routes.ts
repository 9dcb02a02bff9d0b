import { hostMatches } from "../../lib/hostport.ts";
import { readRouteMatch } from "../../lib/route-match.ts";
import type { RouteMatch } from "../../lib/route-match.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { NearRoute } from "../planes/edge-questions.ts";
import { docOf } from "../../schema/doc.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";

const maxNear = 20;

/**
 * Returns routes of an edge that a user may have expected to match a request for a lower-case host and a canonical
 * path.
 * @param matched id of the route that matched
 */
export function findNearRoutes(
  routes: Iterable<ResourceObject>,
  { host, path }: RouteMatch,
  matched: string | undefined,
): readonly NearRoute[] {
  const near: NearRoute[] = [];
  for (const route of routes) {
    const { id } = route;
    if (id === matched || near.length >= maxNear) continue;
    const { match, match_type: matchType } = docOf(route, httpsEdgeRoute);
    const read = readRouteMatch(match);
    const reason =
      typeof read === "string"
        ? `no request can match it: it must ${read}`
        : explainMismatch(matchType, read, host, path);
    if (reason) near.push({ id, matchType, match, reason });
  }
  return near;
}

function explainMismatch(matchType: string, match: RouteMatch, host: string, path: string): string | undefined {
  const isHost = match.host === "" || hostMatches(match.host, host);
  const isPath = matchType === "exact_path" ? match.path === path : isBelow(path, match.path);
  if (isPath && isHost) return `a more specific route matched`;
  if (isPath) return `its host "${match.host}" is not "${host}"`;
  const reason = explainPathMismatch(matchType, match.path, path);
  return reason !== undefined && !isHost ? `its host "${match.host}" is not "${host}", and ${reason}` : reason;
}

function explainPathMismatch(matchType: string, match: string, path: string): string | undefined {
  if (matchType === "exact_path") {
    if (stripTrailingSlash(match) === stripTrailingSlash(path))
      return "the final slash differs, and exact matches compare it";
    if (match.toLowerCase() === path.toLowerCase()) return "the case differs, and paths are case-sensitive";
    return path.startsWith(`${stripTrailingSlash(match)}/`) && match !== "/"
      ? "the path is longer, and exact matches compare the whole path"
      : undefined;
  }
  if (path.startsWith(match)) return "the path continues within a segment, but prefixes match whole segments";
  return path.toLowerCase().startsWith(match.toLowerCase())
    ? "the case differs, and paths are compared as they are"
    : undefined;
}

function isBelow(path: string, prefix: string): boolean {
  return path === stripTrailingSlash(prefix) || path.startsWith(`${stripTrailingSlash(prefix)}/`);
}

function stripTrailingSlash(text: string): string {
  return text.endsWith("/") ? text.slice(0, -1) : text;
}
