import { objectType, mapOf, types } from "../../cel/checking/types.ts";
import { Duration, Timestamp } from "../../cel/values/values.ts";
import type { Value } from "../../cel/values/values.ts";
import type { HeaderFields } from "../../traffic/exchange.ts";

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

export type Cookie = Readonly<Record<string, Value>>;

type Pair = readonly [name: string, value: string];

/** Cookies that one message is read for. */
const maxCookies = 200;

/** Of a request, in order (RFC 6265 §4.2). */
export function requestCookies(fields: HeaderFields): Cookie[] {
  return fields
    .getAll("cookie")
    .flatMap((line) => line.split(";"))
    .map(pairOf)
    .filter((pair) => pair !== undefined)
    .slice(0, maxCookies)
    .map(([name, value]) => ({ name, value }));
}

/** Of a response, those with the longest path first. */
export function responseCookies(fields: HeaderFields): Cookie[] {
  const found = fields
    .getAll("set-cookie")
    .slice(0, maxCookies)
    .map(setCookie)
    .filter((cookie) => cookie !== undefined);
  const length = (cookie: Cookie): number => ((cookie["path"] as string | undefined) ?? "").length;
  return found.sort((one, other) => length(other) - length(one));
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
    attribute(cookie, unparsed, name, value);
  }
  return cookie;
}

function attribute(cookie: Record<string, Value>, unparsed: Record<string, string>, name: string, value: string): void {
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
