import { objectType, mapOf, types } from "../../cel/checking/types.ts";
import { Duration, Timestamp } from "../../cel/values/values.ts";
import type { Value } from "../../cel/values/values.ts";
import type { HeaderFields } from "../../traffic/exchange.ts";
import { Parsed } from "../../traffic/variables/parsed.ts";
import type { PolicyContext } from "../language/context.ts";

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

/** The cookies of one message. */
export interface Cookies {
  readonly list: readonly Cookie[];
  readonly byName: ReadonlyMap<string, readonly Cookie[]>;
}

const asked = new Parsed<Cookies>(readAsked);
const given = new Parsed<Cookies>(readGiven);
const none: Cookies = { list: [], byName: new Map() };

/** Of a request, in order (RFC 6265 §4.2). Read once for each request. */
export function requestCookies(fields: HeaderFields): Cookies {
  const text = fields.getAll("cookie").join("\n");
  return text === "" ? none : asked.of(fields, text);
}

/** Of a response, those with the longest path first. */
export function responseCookies(fields: HeaderFields): Cookies {
  const text = fields.getAll("set-cookie").join("\n");
  return text === "" ? none : given.of(fields, text);
}

/** Steps to read them now. */
export function requestCookiesCost({ exchange }: PolicyContext): number {
  return exchange ? costOf(exchange.request.headers, "cookie", asked) : 0;
}

export function responseCookiesCost({ response }: PolicyContext): number {
  return response ? costOf(response.headers, "set-cookie", given) : 0;
}

/** Steps to find the fields, and for each 64 characters of them. */
const fieldsCost = 2;
const textWeight = 8;

function costOf(fields: HeaderFields, name: string, parsed: Parsed<Cookies>): number {
  const text = fields.getAll(name).join("\n");
  const isRead = text === "" || parsed.isKept(fields, text);
  return fieldsCost + (isRead ? 0 : textWeight * ((text.length + 63) >> 6));
}

/** No field has a line break in it. */
function readAsked(text: string): Cookies {
  const list: Cookie[] = [];
  for (const part of text.split(/[;\n]/)) {
    const pair = pairOf(part);
    if (pair) list.push({ name: pair[0], value: pair[1] });
    if (list.length === maxCookies) break;
  }
  return cookiesOf(list);
}

function readGiven(text: string): Cookies {
  const list = text
    .split("\n", maxCookies)
    .map(setCookie)
    .filter((cookie) => cookie !== undefined);
  const length = (cookie: Cookie): number => ((cookie["path"] as string | undefined) ?? "").length;
  return cookiesOf(list.sort((one, other) => length(other) - length(one)));
}

function cookiesOf(list: readonly Cookie[]): Cookies {
  return { list, byName: Map.groupBy(list, (cookie) => cookie["name"] as string) };
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
