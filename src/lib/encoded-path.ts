/** Paths in which encoded slashes, and bytes that are not UTF-8, are characters like any other. */
import { canonicalPath, pathFault } from "./canonical-path.ts";

const ordinary = /%(?:2f|[89a-f][0-9a-f])/gi;
const standIn = /%F3%B0%8([0-3])%([89AB][0-9A-F])/g;
/** Some servers resolve these after they have decoded the slash. */
const dotsBesideSlash = /(?:\/|%2F)\.{1,2}%2F|%2F\.{1,2}(?=[/;]|$)/;
const overlong = /%(?:C[01]|E0%[89]|F0%8)/;

/**
 * The canonical form of a path that `canonicalPath` refuses only for encoded slashes (`%2F`) or for bytes that are not
 * UTF-8. Both stay encoded, in upper case; everything else has its usual form. Undefined for a path that is refused for
 * another reason too, and for a dot segment beside an encoded slash, such as `..%2F`.
 *
 * @param path origin form without query: visible ASCII that starts with "/"
 */
export function encodedPath(path: string): string | undefined {
  // Every such byte gets a character of a private plane as its stand-in, so no stand-in can be in the path already.
  const read = canonicalPath(path.replaceAll(ordinary, toStandIn));
  const form = read?.replaceAll(standIn, fromStandIn);
  return form === undefined || dotsBesideSlash.test(form) ? undefined : form;
}

/** What keeps `path` from being an `encodedPath`, as a noun such as "a backslash". */
export function encodedPathFault(path: string): string {
  return pathFault(path.replaceAll(ordinary, toStandIn)) ?? 'a "." or ".." segment beside an encoded slash (%2F)';
}

/**
 * How a server reads an `encodedPath` if it decodes slashes before it looks for segments. Undefined if the path also has
 * overlong UTF-8, which such servers may decode to slashes and dots.
 */
export function withSlashesDecoded(form: string): string | undefined {
  return overlong.test(form) ? undefined : form.replaceAll("%2F", "/");
}

function toStandIn(escape: string): string {
  const byte = Number.parseInt(escape.slice(1), 16);
  return `%F3%B0%8${byte >> 6}%${(0x80 | (byte & 0x3f)).toString(16).toUpperCase()}`;
}

function fromStandIn(_: string, high: string, low: string): string {
  const byte = (Number(high) << 6) | (Number.parseInt(low, 16) & 0x3f);
  return `%${byte.toString(16).toUpperCase()}`;
}
