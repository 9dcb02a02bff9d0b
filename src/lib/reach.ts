/** Places that a service token can reach: `host`, `host/path`, or the id of a route or endpoint. */
import { canonicalPath } from "./canonical-path.ts";
import { hostIssue, hostMatches } from "./hostport.ts";

const ownerForm = /^(?:edghtsrt|ep)_[0-9A-Za-z]{1,40}$/;

/** Returns the error in a place, as the end of "must …"; undefined if it is valid. */
export function reachIssue(text: string): string | undefined {
  if (ownerForm.test(text)) return undefined;
  const { host, path } = splitReach(text);
  const issue = hostIssue(host);
  if (issue !== undefined)
    return `be a host, a host with a path, or the id of a route or endpoint: the host must ${issue}`;
  return canonicalPath(path) === path ? undefined : "have a path in canonical form";
}

/** Whether a request to a host and path of the owner (a route or endpoint) is at the place. */
export type Reach = (ownerId: string, host: string, path: string) => boolean;

/** @param text a place without an error */
export function compileReach(text: string): Reach {
  if (ownerForm.test(text)) return (ownerId) => ownerId === text;
  const { host: pattern, path: prefix } = splitReach(text);
  const below = prefix.endsWith("/") ? prefix : `${prefix}/`;
  return (_ownerId, host, path) => hostMatches(pattern, host) && (path === prefix || path.startsWith(below));
}

function splitReach(text: string): { readonly host: string; readonly path: string } {
  const slash = text.indexOf("/");
  return slash < 0
    ? { host: text.toLowerCase(), path: "/" }
    : { host: text.slice(0, slash).toLowerCase(), path: text.slice(slash) };
}
