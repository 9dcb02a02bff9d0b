/** The canonical form of a path, for both sides: the path in a route's match, and the path of a request. */

const slash = 47;
const dot = 46;
const percent = 37;
const backslash = 92;
/** Length of the longest spelling of "..". */
const dotsBytes = 6;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Path characters that need no check: pchar of RFC 3986 §3.3 and "/", without "%" and ".". */
const plain = new Uint8Array(128);
for (let code = 33; code < 127; code += 1) {
  plain[code] = /[A-Za-z0-9\-_~!$&'()*+,;=:@/]/.test(String.fromCharCode(code)) ? 1 : 0;
}

/** Reason why a path has no canonical form: `has` is a noun, for "it has …" and "without …". */
interface Fault {
  readonly has: string;
}

const broken: Fault = { has: "a percent sign without two hexadecimal digits" };
const encodedSlash: Fault = { has: "an encoded slash (%2F)" };
const encodedBackslash: Fault = { has: "an encoded backslash (%5C)" };
const encodedNul: Fault = { has: "an encoded NUL (%00)" };
const rawBackslash: Fault = { has: "a backslash" };
const encodedDots: Fault = { has: 'an encoded "." or ".." segment' };
const parameters: Fault = { has: 'a "." or ".." segment with parameters' };
const notUtf8: Fault = { has: "bytes that are not UTF-8" };

/**
 * Returns the canonical form of a path (RFC 3986 §6.2.2; security R1). Every character that a path may contain
 * unencoded is decoded, reserved or not, because upstreams decode it. Everything else is encoded, in upper case. Dot
 * segments are resolved. Two spellings have the same form if they decode to the same bytes. Routes match this form, and
 * it is forwarded, so that no two parties read it differently. It is its own canonical form.
 *
 * Returns undefined, for rejection, if different servers are known to read the path differently: an encoded slash,
 * backslash, NUL or dot-dot, dots followed by parameters (`/..;x/`), a backslash, broken encoding, bytes that are not
 * UTF-8.
 *
 * @param path origin form without query: visible ASCII that starts with "/"
 */
export function canonicalPath(path: string): string | undefined {
  const read = readPath(path);
  return typeof read === "string" ? read : undefined;
}

/** Returns the reason why `path` has no canonical form, as a noun such as "an encoded slash (%2F)". */
export function pathFault(path: string): string | undefined {
  const read = readPath(path);
  return typeof read === "string" ? undefined : read.has;
}

function readPath(path: string): string | Fault {
  const { length } = path;
  let at = 0;
  let before = slash;
  for (; at < length; at += 1) {
    const code = path.charCodeAt(at);
    if (plain[code] !== 1 && (code !== dot || before === slash)) break;
    before = code;
  }
  // "//" does not change: empty segments are segments.
  return at === length ? path : rewritePath(path);
}

function rewritePath(path: string): string | Fault {
  const { length } = path;
  let text = "";
  let hasDots = false;
  let beyondAscii = false;
  let segmentStart = 0;
  for (let at = 0; at < length; at += 1) {
    const code = path.charCodeAt(at);
    if (code === percent) {
      const byte = byteAt(path, at + 1);
      if (byte < 0) return broken;
      if (byte === slash) return encodedSlash;
      if (byte === backslash) return encodedBackslash;
      if (byte === 0) return encodedNul;
      if (byte === dot) {
        if (at - segmentStart < dotsBytes && isDotSegment(path, segmentStart)) return encodedDots;
        text += ".";
      } else if (plain[byte] === 1) text += String.fromCharCode(byte);
      else text += `%${path.slice(at + 1, at + 3).toUpperCase()}`;
      beyondAscii ||= byte > 127;
      at += 2;
    } else if (code === backslash) return rawBackslash;
    else if (code === dot) {
      if (isParameterised(path, at)) return parameters;
      hasDots = true;
      text += ".";
    } else if (plain[code] === 1) {
      if (code === slash) segmentStart = at + 1;
      text += path[at];
    } else text += `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  if (beyondAscii && !isUtf8(text)) return notUtf8;
  return hasDots ? removeDotSegments(text) : text;
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

/** Whether the segment at `start` is "." or ".." after its encoded dots are decoded and its parameters removed. */
function isDotSegment(path: string, start: number): boolean {
  return /^(?:\.|%2e){1,2}(?:$|\/|;|%3b)/i.test(path.slice(start, start + dotsBytes + 3));
}

/** Whether the segment at `at` is "." or ".." with parameters, which some servers remove first. */
function isParameterised(path: string, at: number): boolean {
  return path.charCodeAt(at - 1) === slash && /^\.{1,2}(?:;|%3b)/i.test(path.slice(at, at + 5));
}

/** RFC 3986 §5.2.4; a path never climbs above "/". */
function removeDotSegments(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/");
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === "." || segment === "..") {
      if (segment === ".." && kept.length > 1) kept.pop();
      if (last) kept.push("");
    } else kept.push(segment);
  }
  return kept.join("/");
}

function isUtf8(path: string): boolean {
  const bytes = Buffer.from(
    path.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
