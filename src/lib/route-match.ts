import { canonicalPath, pathFault } from "./canonical-path.ts";
import { hostIssue } from "./hostport.ts";

/** The parsed `match` of a route. */
export interface RouteMatch {
  /** Lower case, without trailing dot, `*.` in front for all names below it; "" if the match has no host. */
  readonly host: string;
  /** In the canonical form of request paths; "/" if the match has no path. */
  readonly path: string;
}

/**
 * Parses a path, a host, or a host with a path into the canonical form of requests. For an invalid match, returns the
 * end of "must …".
 */
export function readRouteMatch(match: string): RouteMatch | string {
  const slash = match.indexOf("/");
  const host = slash < 0 ? match : match.slice(0, slash);
  const path = slash < 0 ? "/" : match.slice(slash);
  const issue = (slash === 0 ? undefined : nameIssue(host)) ?? pathIssue(path);
  if (issue !== undefined) return issue;
  return { host: nameOf(host), path: canonicalPath(path) as string };
}

/** Returns the same text for equivalent matches. An invalid match is returned unchanged. */
export function canonicalMatch(match: string): string {
  const read = readRouteMatch(match);
  return typeof read === "string" ? match : read.host + read.path;
}

/** Returns the error in a route's match, as the end of "must …". */
export function matchIssue(match: string): string | undefined {
  const read = readRouteMatch(match);
  return typeof read === "string" ? read : undefined;
}

function nameOf(host: string): string {
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}

function nameIssue(host: string): string | undefined {
  if (host === "") return 'start with "/" or with a host name';
  if (/^https?:$/i.test(host)) return "leave out the scheme: it is a path, a host, or a host and a path";
  if (/:[0-9]*$/.test(host)) return "name its host without a port: a route holds for every port of its edge";
  const issue = hostIssue(nameOf(host));
  return issue === undefined ? undefined : `start with "/" or with a host name, which must ${issue}`;
}

function pathIssue(path: string): string | undefined {
  if (/[^\x21-\x7e]/.test(path)) return "be a path in ASCII: encode spaces and other characters";
  if (/[?#]/.test(path)) return "be a path alone, without query and fragment";
  const fault = pathFault(path);
  return fault === undefined ? undefined : `have a canonical form: no request is matched that has ${fault}`;
}
