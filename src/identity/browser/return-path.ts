/** The destination after logging in or out: always a path of the same host (security I3). */

/** Maximum length of the path with query, bytes. */
const maxBytes = 1024;

/** The requested path, which is already canonical; the start page if it is too long. */
export function pathOfRequest(path: string, query: string): string {
  const whole = path + query;
  return Buffer.byteLength(whole) <= maxBytes ? sanitizePath(whole) : "/";
}

/**
 * Returns `text` if it is a path with query of the same origin, in the form of a URL parser; otherwise "/". The result
 * starts with exactly one slash and contains no backslash or control character, so every parser reads it as a path.
 */
export function sanitizePath(text: string | undefined | null): string {
  if (typeof text !== "string" || !/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text) || text.length > maxBytes) return "/";
  const { pathname, search } = new URL(text, "https://host.invalid");
  // Dot segments can leave two slashes at the start, as in "/.//evil.example".
  return pathname.startsWith("//") ? "/" : pathname + search;
}
