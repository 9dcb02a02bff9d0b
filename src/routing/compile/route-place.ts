import { canonicalPath } from "../../lib/canonical-path.ts";
import { readRouteMatch } from "../../lib/route-match.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { RoutePlace } from "../sites/hosted-routes.ts";
import { docOf } from "../../schema/doc.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";

/** The place of a stored route, and the problem of its match. */
export interface FoundPlace {
  /** Undefined if the match is unreadable. */
  readonly place: RoutePlace | undefined;
  /**
   * Why no request can have this match, as the end of "must …". The place is then the one that a lenient server would
   * read.
   */
  readonly issue: string | undefined;
}

/**
 * Returns the place of a route. Writes reject matches without a canonical form, but earlier versions may have stored
 * them. Such a route is closed. It has the place at which a less strict upstream would read the match. Otherwise a
 * wider route would serve these paths without the restrictions of this route.
 */
export function placeOf(route: ResourceObject): FoundPlace {
  const { match_type: type, match } = docOf(route, httpsEdgeRoute);
  const read = readRouteMatch(match);
  if (typeof read !== "string") return { place: { type, ...read }, issue: undefined };
  const path = match.startsWith("/") ? normalizeLeniently(match) : undefined;
  return { place: path === undefined ? undefined : { type, host: "", path }, issue: read };
}

/**
 * Normalizes a path as lenient servers do. Encoded slashes and backslashes separate segments. A NUL ends the path.
 * Invalid percent signs are literal. Dot segments count in every spelling. Bytes are Latin-1 if not UTF-8.
 */
function normalizeLeniently(match: string): string | undefined {
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
