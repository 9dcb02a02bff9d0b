/** Where a visitor goes after logging in or out: a path of the same host, and nothing else (security I3). */

/** Longest path with query that is come back to, bytes. */
const maxBytes = 1024;

/** What was asked for, canonical already; the start page when it is too long to be carried. */
export function pathOfRequest(path: string, query: string): string {
  const whole = path + query;
  return Buffer.byteLength(whole) <= maxBytes ? safePath(whole) : "/";
}

/**
 * `text` where it is a path with query of the same origin, as a URL parser writes it; "/" else. One slash, then no
 * other, and neither backslash nor control anywhere: what is left of texts is read as a path by every parser.
 */
export function safePath(text: string | undefined | null): string {
  if (typeof text !== "string" || !/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text) || text.length > maxBytes) return "/";
  const { pathname, search } = new URL(text, "https://host.invalid");
  // Dots may leave two slashes in front, as in "/.//evil.example".
  return pathname.startsWith("//") ? "/" : pathname + search;
}
