/** Where a visitor goes after logging in or out: a path of the same host, and nothing else (security I3). */

/** Longest path with query that is come back to, bytes. */
const maxBytes = 1024;

/** What was asked for, canonical already; the start page when it is too long to be carried. */
export function pathOfRequest(path: string, query: string): string {
  const whole = path + query;
  return Buffer.byteLength(whole) <= maxBytes ? safePath(whole) : "/";
}

/**
 * `text` where it is a path of the same origin: one slash, then neither slash nor backslash, no controls, nothing
 * that a URL parser reads as another place. "/" else.
 */
export function safePath(text: string | undefined | null): string {
  if (typeof text !== "string" || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text) || text.length > maxBytes)
    return "/";
  const base = "https://host.invalid";
  const url = URL.parse(text, base);
  if (url?.origin !== base || url.username !== "" || url.password !== "") return "/";
  const path = url.pathname + url.search;
  return /^\/[/\\]/.test(path) ? "/" : path;
}
