import { canonicalPath } from "../../lib/canonical-path.ts";
import { readRouteMatch } from "../../lib/route-match.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { RoutePlace } from "../sites/hosted-routes.ts";
import { docOf } from "../../schema/doc.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";

/** Where a stored route stands, and what is wrong with its match. */
export interface FoundPlace {
  /** Undefined when it cannot be read. */
  readonly place: RoutePlace | undefined;
  /** Why no request can have the match, as the end of "must …": the place is then what a lenient reader makes of it. */
  readonly issue: string | undefined;
}

/**
 * The place of a route. Matches that have no canonical form are refused when they are written, but may have been
 * stored before that: such a route is closed, and stands where an upstream that is less strict would look for what
 * the match names. Otherwise a wider route would serve that, without the restriction that was written for it.
 */
export function placeOf(route: ResourceObject): FoundPlace {
  const { match_type: type, match } = docOf(route, httpsEdgeRoute);
  const read = readRouteMatch(match);
  if (typeof read !== "string") return { place: { type, ...read }, issue: undefined };
  const path = match.startsWith("/") ? lenientPath(match) : undefined;
  return { place: path === undefined ? undefined : { type, host: "", path }, issue: read };
}

/**
 * A path as lenient servers read it: encoded slashes and backslashes separate segments, a NUL ends the path, stray
 * percent signs are themselves, dot segments count however they are written, bytes are Latin-1 if not UTF-8.
 */
function lenientPath(match: string): string | undefined {
  const text = match
    .replace(/[?#].*$|%00.*$/s, "")
    .replaceAll(/%(?:2f|5c)|\\/gi, "/")
    .replaceAll(/%(?![0-9a-f]{2})/gi, "%25")
    .replaceAll(/%2e/gi, ".")
    .replaceAll(/(?<=\/)(\.{1,2})(?:;|%3b)[^/]*/gi, "$1");
  return canonicalPath(text) ?? canonicalPath(text.replaceAll(/%[89a-f][0-9a-f]/gi, fromLatin1));
}

function fromLatin1(escape: string): string {
  return encodeURIComponent(String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}
