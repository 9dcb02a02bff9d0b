import { objectType, mapOf, types } from "../../cel/checking/cel-types.ts";
import { Duration, Timestamp } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import type { Cookie, Cookies } from "../language/cookie-set.ts";

const { string, bool, timestamp, duration } = types;

export const cookieType = objectType("cookie", {
  name: string,
  value: string,
  domain: string,
  path: string,
  same_site: string,
  expires: timestamp,
  max_age: duration,
  http_only: bool,
  secure: bool,
  unparsed_attributes: mapOf(string, string),
});

type Pair = readonly [name: string, value: string];

/** Maximum cookies read from one message. */
const maxCookies = 200;

const none: Cookies = { byName: new Map() };

/** Cookies of the request, in order (RFC 6265 §4.2). */
export function requestCookies(context: PolicyContext): Cookies {
  if (context.cookies) return context.cookies;
  const lines = context.exchange?.request.headers.getAll("cookie") ?? [];
  return (context.cookies = lines.length === 0 ? none : readAsked(lines));
}

/** Cookies of the response, those with the longest path first. */
export function responseCookies(context: PolicyContext): Cookies {
  if (context.setCookies) return context.setCookies;
  const lines = context.response?.headers.getAll("set-cookie") ?? [];
  return (context.setCookies = lines.length === 0 ? none : readGiven(lines));
}

/** Returns the steps for reading the cookies now. */
export function requestCookiesCost({ cookies, exchange }: PolicyContext): number {
  return cookies || !exchange ? 0 : costOf(exchange.request.headers.getAll("cookie"));
}

export function responseCookiesCost({ setCookies, response }: PolicyContext): number {
  return setCookies || !response ? 0 : costOf(response.headers.getAll("set-cookie"));
}

/** Steps for each 64 characters. */
const textWeight = 8;

function costOf(lines: readonly string[]): number {
  let steps = 1;
  for (const { length } of lines) steps += textWeight * ((length + 63) >> 6);
  return steps;
}

function readAsked(lines: readonly string[]): Cookies {
  const list: Cookie[] = [];
  for (const line of lines) {
    for (const part of line.split(";")) {
      const pair = pairOf(part);
      if (pair && list.length < maxCookies) list.push({ name: pair[0], value: pair[1] });
    }
  }
  return cookiesOf(list);
}

function readGiven(lines: readonly string[]): Cookies {
  const list = lines
    .slice(0, maxCookies)
    .map(setCookie)
    .filter((cookie) => cookie !== undefined);
  const length = (cookie: Cookie): number => ((cookie["path"] as string | undefined) ?? "").length;
  return cookiesOf(list.sort((one, other) => length(other) - length(one)));
}

function cookiesOf(list: readonly Cookie[]): Cookies {
  return { byName: Map.groupBy(list, (cookie) => cookie["name"] as string) };
}

/** RFC 6265 §5.2. */
function setCookie(line: string): Cookie | undefined {
  const [first = "", ...rest] = line.split(";");
  const pair = pairOf(first);
  if (!pair) return undefined;
  const unparsed: Record<string, string> = Object.create(null) as Record<string, string>;
  const cookie: Record<string, Value> = { name: pair[0], value: pair[1], unparsed_attributes: unparsed };
  for (const part of rest) {
    const [name, value] = pairOf(part) ?? [part.trim(), ""];
    setAttribute(cookie, unparsed, name, value);
  }
  return cookie;
}

function setAttribute(
  cookie: Record<string, Value>,
  unparsed: Record<string, string>,
  name: string,
  value: string,
): void {
  switch (name.toLowerCase()) {
    case "domain":
    case "path":
      cookie[name.toLowerCase()] = value;
      return;
    case "samesite":
      cookie["same_site"] = value;
      return;
    case "secure":
      cookie["secure"] = true;
      return;
    case "httponly":
      cookie["http_only"] = true;
      return;
    case "max-age":
      if (/^-?\d{1,10}$/.test(value)) cookie["max_age"] = new Duration(BigInt(value) * 1_000_000_000n);
      return;
    case "expires": {
      const ms = Date.parse(value);
      if (!Number.isNaN(ms)) cookie["expires"] = new Timestamp(BigInt(ms) * 1_000_000n);
      return;
    }
    default:
      if (name !== "") unparsed[name] = value;
  }
}

function pairOf(text: string): Pair | undefined {
  const equals = text.indexOf("=");
  if (equals < 0) return undefined;
  const name = text.slice(0, equals).trim();
  const value = text.slice(equals + 1).trim();
  return name === "" ? undefined : [name, value.length > 1 && /^".*"$/.test(value) ? value.slice(1, -1) : value];
}
