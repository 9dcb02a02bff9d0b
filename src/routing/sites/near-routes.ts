import type { ResourceObject } from "../../schema/object.ts";
import { canonicalMatch } from "./route-index.ts";

export interface NearRoute {
  readonly id: string;
  readonly matchType: string;
  readonly match: string;
  /** Why it was not the one, as a clause. */
  readonly reason: string;
}

const maxNear = 20;

/** Routes of an edge that someone may have expected to match `path`. @param matched id of the one that did */
export function nearRoutes(
  routes: Iterable<ResourceObject>,
  path: string,
  matched: string | undefined,
): readonly NearRoute[] {
  const near: NearRoute[] = [];
  for (const { id, doc } of routes) {
    if (id === matched || near.length >= maxNear) continue;
    const match = String(doc["match"]);
    const matchType = String(doc["match_type"]);
    const reason = why(matchType, canonicalMatch(match), path);
    if (reason) near.push({ id, matchType, match, reason });
  }
  return near;
}

function why(matchType: string, match: string, path: string): string | undefined {
  const bare = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text);
  if (matchType === "exact_path") {
    if (match === path) return "another route has the same match";
    if (bare(match) === bare(path)) return "the final slash differs, and an exact match is exact";
    if (match.toLowerCase() === path.toLowerCase()) return "the case differs, and paths are compared as they are";
    return path.startsWith(`${bare(match)}/`) && match !== "/"
      ? "the path goes on, and an exact match is exact"
      : undefined;
  }
  if (path === bare(match) || path.startsWith(`${bare(match)}/`)) return "a more specific route matched";
  if (path.startsWith(match)) return "the path goes on within a segment, and prefixes end between segments";
  return path.toLowerCase().startsWith(match.toLowerCase())
    ? "the case differs, and paths are compared as they are"
    : undefined;
}
