/** Canonical form of paths with encoded slashes or bytes that are not UTF-8. */
import { canonicalPath, pathFault } from "./canonical-path.ts";
import { withoutDotSegments } from "./spelled-path.ts";

const percent = 37;
const slash = 47;
const backslash = 92;
/** For each byte, its form in a canonical path: as a character or encoded. */
const written = Array.from({ length: 256 }, (_, byte) => {
  const escape = `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return canonicalPath(`/x${escape}`)?.slice(2) ?? escape;
});
const ordinary = /%(?:2f|[89a-f][0-9a-f])/gi;
const dotSegment = /\/\.{1,2}(?=\/|$)/g;
/** Some servers resolve these after they remove parameters or decode the slash. */
const unclearDots = /(?:\/|%2F)\.{1,2}(?:;|%2F)|%2F\.{1,2}(?=\/|$)/;
const overlong = /%(?:C[01]|E0%[89]|F0%8)/;

/**
 * Returns the canonical form of a path that `canonicalPath` rejects only for encoded slashes (`%2F`) or for bytes that
 * are not UTF-8. Both stay encoded, in upper case; everything else has its usual form. Returns undefined for a path
 * that has other faults too, and for a dot segment beside an encoded slash, such as `..%2F`. Linear in the path's
 * length.
 *
 * @param path origin form without query: visible ASCII that starts with "/"
 */
export function encodeCanonicalPath(path: string): string | undefined {
  let form = "";
  /** Start of the characters that do not change. */
  let from = 0;
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at);
    let byte = code;
    let end = at + 1;
    if (code === percent) {
      byte = byteAt(path, end);
      if (byte <= 0 || byte === backslash) return undefined;
      end += 2;
    } else if (code === backslash) return undefined;
    else if (code === slash) continue;
    const text = written[byte] as string;
    if (!path.startsWith(text, at) || text.length !== end - at) {
      form += path.slice(from, at) + text;
      from = end;
    }
    at = end - 1;
  }
  form += path.slice(from);
  if (unclearDots.test(form)) return undefined;
  // A dot segment that the path does not contain unencoded was encoded in it.
  return countDots(form) === countDots(path) ? withoutDotSegments(form) : undefined;
}

/** Returns the reason why `path` has no `encodeCanonicalPath`, as a noun such as "a backslash". */
export function encodedPathFault(path: string): string {
  return pathFault(path.replaceAll(ordinary, "x")) ?? 'a "." or ".." segment beside an encoded slash (%2F)';
}

/**
 * Returns an `encodeCanonicalPath` as a server reads it that decodes slashes before it splits segments. Returns undefined if
 * the path also has overlong UTF-8, which such servers may decode to slashes and dots.
 */
export function withSlashesDecoded(form: string): string | undefined {
  return overlong.test(form) ? undefined : form.replaceAll("%2F", "/");
}

function countDots(path: string): number {
  return path.match(dotSegment)?.length ?? 0;
}

/** Returns the byte of the two hexadecimal digits at `at`, or -1. */
function byteAt(path: string, at: number): number {
  const high = parseHexDigit(path.charCodeAt(at));
  const low = parseHexDigit(path.charCodeAt(at + 1));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function parseHexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
