import { hexValue } from "../../http1/bytes.ts";

const slash = 47;
const dot = 46;
const percent = 37;
const backslash = 92;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Path characters that need no look: pchar of RFC 3986 §3.3 and "/", without "%" and ".". */
const plain = new Uint8Array(128);
/** Unreserved characters, which are the same with and without encoding (RFC 3986 §2.3). */
const unreserved = new Uint8Array(128);
for (let code = 33; code < 127; code += 1) {
  const text = String.fromCharCode(code);
  plain[code] = /[A-Za-z0-9\-_~!$&'()*+,;=:@/]/.test(text) ? 1 : 0;
  unreserved[code] = /[A-Za-z0-9\-._~]/.test(text) ? 1 : 0;
}

/**
 * The one form of a path (RFC 3986 §6.2.2; security R1): unreserved characters decoded, other encodings in upper
 * case, characters that should have been encoded encoded, dot segments resolved. It is what routes are matched
 * against and what is forwarded, so that no two parties read it differently.
 *
 * Undefined, to be refused, for what different servers are known to read differently: an encoded slash, backslash,
 * NUL or dot-dot, dots followed by parameters (`/..;x/`), a backslash, broken encoding, bytes that are not UTF-8.
 *
 * @param path origin form without query: visible ASCII that starts with "/"
 */
export function canonicalPath(path: string): string | undefined {
  const { length } = path;
  let at = 0;
  let before = slash;
  for (; at < length; at += 1) {
    const code = path.charCodeAt(at);
    if (plain[code] !== 1 && (code !== dot || before === slash)) break;
    before = code;
  }
  // "//" is left alone: empty segments are segments.
  return at === length ? path : rewrite(path);
}

function rewrite(path: string): string | undefined {
  const { length } = path;
  let text = "";
  let hasDots = false;
  let beyondAscii = false;
  for (let at = 0; at < length; at += 1) {
    const code = path.charCodeAt(at);
    if (code === percent) {
      const high = hexValue[path.charCodeAt(at + 1)] ?? 255;
      const low = hexValue[path.charCodeAt(at + 2)] ?? 255;
      if (high > 15 || low > 15) return undefined;
      const byte = high * 16 + low;
      if (byte === 0 || byte === slash || byte === backslash) return undefined;
      if (byte === dot) {
        if (isDotSegment(path, at)) return undefined;
        text += ".";
      } else if (byte < 128 && unreserved[byte] === 1) text += String.fromCharCode(byte);
      else text += `%${path.slice(at + 1, at + 3).toUpperCase()}`;
      beyondAscii ||= byte > 127;
      at += 2;
    } else if (code === backslash) return undefined;
    else if (code === dot) {
      if (isParameterised(path, at)) return undefined;
      hasDots = true;
      text += ".";
    } else if (plain[code] === 1) text += path[at];
    else text += `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  if (beyondAscii && !isUtf8(text)) return undefined;
  return hasDots ? removeDotSegments(text) : text;
}

/** Whether the segment around `at` is "." or ".." once its encoded dots are decoded, parameters left aside. */
function isDotSegment(path: string, at: number): boolean {
  const start = path.lastIndexOf("/", at) + 1;
  const end = path.indexOf("/", at);
  return /^(?:\.|%2e){1,2}(?:$|;|%3b)/i.test(end < 0 ? path.slice(start) : path.slice(start, end));
}

/** Whether a segment that starts at `at` is "." or ".." with parameters, which some servers cut off first. */
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
