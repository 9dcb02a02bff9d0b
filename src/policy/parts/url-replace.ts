/** Replaces URLs for redirect and url-rewrite. */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import type { Meter } from "../../cel/values/budget.ts";
import { ReplaceFault } from "./replacing.ts";
import { expandReplacement } from "./replacement.ts";
import type { Replacement, Variables } from "./replacement.ts";

/** A request's URL in parts, as it is forwarded. */
export interface UrlParts {
  readonly scheme: string;
  /** Host and port as the client sent them. */
  readonly authority: string;
  /** Host without port. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Includes the `?`, or is "". */
  readonly query: string;
  /** User information of the URL, if any. */
  readonly user?: string;
}

export interface ReplacedUrl {
  /** Absolute, and contains only valid URL characters. */
  readonly url: string;
  /** Matches, in order; the whole URL if there is no expression. */
  readonly matches: readonly string[];
}

/** Maximum length of the resulting URL, characters. */
export const maxUrlLength = 16_384;
const maxMatches = 100;

export function urlOf({ scheme, authority, path, query }: UrlParts): string {
  return `${scheme}://${authority}${path}${query}`;
}

/**
 * Replaces all matches in the whole URL, or the whole URL if `pattern` is undefined. Never throws.
 * @param meter pays for each search, and for the result
 * @returns undefined if nothing matches, or nothing changes
 */
export function replaceUrl(
  parts: UrlParts,
  pattern: Pattern | undefined,
  to: Replacement,
  meter: Meter,
): ReplacedUrl | CelFailure | undefined {
  const url = urlOf(parts);
  const matches: string[] = [];
  const text = pattern
    ? replaceMatches(url, pattern, to, variablesOf(parts), matches, meter)
    : expandReplacement(to, wholeOf(url, matches), variablesOf(parts), maxUrlLength);
  if (text === undefined) return faultTooLong();
  if (text instanceof CelFailure) return text;
  if (matches.length === 0 || text === url) return undefined;
  if (text.length > maxUrlLength) return faultTooLong();
  // The text is encoded, parsed as a URL and compared.
  const spent = meter.spendText(8 * text.length);
  if (spent) return spent;
  if (/[\0\r\n]/.test(text)) return new ReplaceFault("the URL contains a line break or NUL");
  const absolute = encodeUrl(makeAbsolute(text, parts, to));
  if (absolute.length > maxUrlLength) return faultTooLong();
  if (!URL.canParse(absolute)) return new ReplaceFault("the result is not a URL");
  return absolute === url ? undefined : { url: absolute, matches };
}

function replaceMatches(
  url: string,
  { expression, cost }: Pattern,
  to: Replacement,
  variables: Variables,
  matches: string[],
  meter: Meter,
): string | CelFailure {
  const matcher = expression.matcher(url);
  // Each variable may search the whole query.
  const expansion = to.length * (1 + (url.length >> 8));
  let text = "";
  let at = 0;
  for (;;) {
    const spent = meter.spend(cost * ((url.length - at + 63) >> 6) + 1 + expansion);
    if (spent) return spent;
    if (!matcher.find()) return text + url.slice(at);
    const inserted = expandReplacement(to, matcher, variables, maxUrlLength);
    if (inserted === undefined) return faultTooLong();
    text += url.slice(at, matcher.start()) + inserted;
    if (text.length > maxUrlLength) return faultTooLong();
    at = matcher.end();
    if (matches.length < maxMatches) matches.push(url.slice(matcher.start(), at));
  }
}

function wholeOf(url: string, matches: string[]) {
  matches.push(url);
  return { groupCount: () => 0, group: () => url };
}

/**
 * A result without a scheme is relative to the request's URL (RFC 3986 §4.2, §5.2). A result that begins with `//`
 * names another host only if the policy wrote the slashes. A path from the client cannot do that.
 */
function makeAbsolute(text: string, { scheme, authority, path, query }: UrlParts, to: Replacement): string {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text)) return text;
  const [first] = to;
  if (text.startsWith("//") && typeof first === "string" && first.startsWith("//")) return `${scheme}:${text}`;
  const origin = `${scheme}://${authority}`;
  if (text.startsWith("/")) return origin + text;
  if (text.startsWith("?")) return origin + path + text;
  if (text.startsWith("#")) return origin + path + query + text;
  return origin + path.slice(0, path.lastIndexOf("/") + 1) + text;
}

/** Percent-encodes characters that are invalid in URLs (RFC 3986 §2). Existing encodings stay. */
export function encodeUrl(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+|%(?![0-9A-Fa-f]{2})/g, (one) =>
    one === "%" ? "%25" : encodeURIComponent(one.toWellFormed()),
  );
}

function variablesOf({ scheme, authority, host, port, path, query, user }: UrlParts): Variables {
  return (name) => {
    switch (name) {
      case "scheme":
        return scheme;
      case "host":
        return host;
      case "port":
        return String(port);
      case "authority":
        return authority;
      case "uri":
        return path + query;
      case "args":
      case "query_string":
        return query.slice(1);
      case "is_args":
        return query.length > 1 ? "?" : "";
      case "user":
        return user ?? "";
      case "is_user":
        return user ? "@" : "";
      default:
        return name.startsWith("arg_") ? readArgument(query, name.slice(4)) : undefined;
    }
  };
}

/** Returns the first value of a name in the query, without decoding. */
function readArgument(query: string, name: string): string {
  for (const pair of query.slice(1).split("&", 1000)) {
    const equals = pair.indexOf("=");
    if ((equals < 0 ? pair : pair.slice(0, equals)) === name) return equals < 0 ? "" : pair.slice(equals + 1);
  }
  return "";
}

function faultTooLong(): ReplaceFault {
  return new ReplaceFault(`the URL is longer than ${maxUrlLength} characters`, true);
}
