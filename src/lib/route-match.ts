import { canonicalPath, pathFault } from "./canonical-path.ts";
import { hostIssue } from "./hostport.ts";

/** What the `match` of a route says. */
export interface RouteMatch {
  /** Lower case, without trailing dot, `*.` in front for all names below it; "" where the match names none. */
  readonly host: string;
  /** In the canonical form of request paths; "/" where the match names none. */
  readonly path: string;
}

/**
 * Reads a path, a host, or a host with a path into the form that requests are brought into. What has no such form
 * comes back as the end of "must …".
 */
export function readRouteMatch(match: string): RouteMatch | string {
  const slash = match.indexOf("/");
  const host = slash < 0 ? match : match.slice(0, slash);
  const path = slash < 0 ? "/" : match.slice(slash);
  const issue = (slash === 0 ? undefined : nameIssue(host)) ?? pathIssue(path);
  if (issue !== undefined) return issue;
  return { host: nameOf(host), path: canonicalPath(path) as string };
}

/** The same text for matches that mean the same; what cannot be read is only the same as itself. */
export function canonicalMatch(match: string): string {
  const read = readRouteMatch(match);
  return typeof read === "string" ? match : read.host + read.path;
}

/** What is wrong with a route's match, as the end of "must …". */
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
