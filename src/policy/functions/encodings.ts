/** base64, URLs, JSON, query strings, Basic credentials. */
import { define, member, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration, Native } from "../../cel/checking/declarations.ts";
import { mapOf, types } from "../../cel/checking/types.ts";
import type { Type } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import { mapGet, mapKeys } from "../../cel/values/map.ts";
import type { MapValue } from "../../cel/values/map.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { Value } from "../../cel/values/values.ts";
import { maxJsonDepth } from "../../lib/json.ts";
import { plainOf, textOf } from "../language/text-of.ts";

const { string, bool, bytes, dyn } = types;
const textMap = mapOf(string, string);
const anyMap = mapOf(dyn, dyn);

/** The text that `make` makes of one that is charged for; what it throws is a failure. */
function making(make: (text: string) => string) {
  return (text: string, run: Run): Result => {
    const spent = run.makeText(text.length * 2);
    if (spent) return spent;
    try {
      return make(text);
    } catch {
      return new Failure("the text cannot be decoded");
    }
  };
}

function reading(read: (text: string) => Result) {
  return (text: string, run: Run): Result => run.makeText(text.length) ?? run.spendText(text.length) ?? read(text);
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function decodeBase64(text: string): Buffer | Failure {
  return base64.test(text) ? Buffer.from(text, "base64") : new Failure("the text is not base64");
}

function decodeBase64Text(text: string): Result {
  const decoded = decodeBase64(text);
  return decoded instanceof Failure ? decoded : decoded.toString("utf8");
}

const escapeUrl = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

function decodeJson(text: string): Result {
  const found = jsonOf(text);
  return found === undefined ? new Failure(`the text is not JSON, or nested deeper than ${maxJsonDepth}`) : found.value;
}

function jsonOf(text: string): { readonly value: Value } | undefined {
  try {
    const value = JSON.parse(text) as Value;
    return isShallow(value, 1) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth <= maxJsonDepth && Object.values(value).every((inner) => isShallow(inner, depth + 1));
}

function encodeJson(value: Value, run: Run): Result {
  const text = JSON.stringify(plainOf(value)) ?? "null";
  return run.makeText(text.length) ?? text;
}

function decodeQuery(text: string): Result {
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(text)) if (!(name in found)) found[name] = value;
  return found;
}

function encodeQuery(map: MapValue, run: Run): Result {
  const pairs = new URLSearchParams();
  for (const key of mapKeys(map)) {
    const value = mapGet(map, key);
    for (const one of Array.isArray(value) ? (value as readonly Value[]) : [value ?? null]) {
      pairs.append(textOf(key), textOf(one));
    }
  }
  const text = pairs.toString();
  return run.makeText(text.length) ?? text;
}

function parseUrl(text: string): Result {
  const url = URL.parse(text);
  if (!url) return new Failure("the text is not a URL");
  const { protocol, host, pathname, search, hash, username, password } = url;
  const user = password === "" ? username : `${username}:${password}`;
  return {
    scheme: protocol.slice(0, -1),
    host,
    path: pathname,
    raw_query: search.slice(1),
    fragment: hash.slice(1),
    user,
  };
}

/** The same as a function, `json.decode(s)`, and as a member, `s.decodeJson()`. */
function both(name: string, asMember: string, from: readonly Type[], result: Type, evaluate: Native) {
  const id = name.replace(".", "_");
  return [
    define(name, ...from.map((type, at) => overload(`${id}_${at}`, [type], result, evaluate))),
    define(asMember, ...from.map((type, at) => member(`${asMember}_${at}`, [type], result, evaluate))),
  ];
}

const lists: Type = { is: "list", of: dyn };

export const encodingFunctions: readonly FunctionDeclaration[] = [
  define(
    "base64.encode",
    overload(
      "base64_encode",
      [bytes],
      string,
      (given: Uint8Array, run: Run) => run.makeText(given.length * 2) ?? Buffer.from(given).toString("base64"),
    ),
  ),
  define("base64.decode", overload("base64_decode", [string], bytes, reading(decodeBase64))),
  define(
    "encodeBase64",
    member(
      "string_encode_base64",
      [string],
      string,
      making((text) => Buffer.from(text).toString("base64")),
    ),
  ),
  define("decodeBase64", member("string_decode_base64", [string], string, reading(decodeBase64Text))),
  ...both("url.escape", "escapeUrl", [string], string, making(escapeUrl)),
  ...both(
    "url.unescape",
    "unescapeUrl",
    [string],
    string,
    making((text) => decodeURIComponent(text.replaceAll("+", " "))),
  ),
  ...both("json.decode", "decodeJson", [string], dyn, reading(decodeJson)),
  define("json.encode", overload("json_encode", [dyn], string, encodeJson)),
  define(
    "encodeJson",
    member("list_encode_json", [lists], string, encodeJson),
    member("map_encode_json", [anyMap], string, encodeJson),
  ),
  define(
    "isJson",
    member(
      "string_is_json",
      [string],
      bool,
      reading((text) => jsonOf(text) !== undefined),
    ),
  ),
  ...both("queryString.decode", "decodeQueryString", [string], textMap, reading(decodeQuery)),
  ...both("queryString.encode", "encodeQueryString", [anyMap], string, encodeQuery),
  define(
    "isQueryString",
    member(
      "string_is_query_string",
      [string],
      bool,
      reading((text) => /^[^=&#\s]+=[^&#\s]*(?:&[^=&#\s]+=[^&#\s]*)*$/.test(text)),
    ),
  ),
  define(
    "basic_auth.encode",
    overload(
      "basic_auth_encode",
      [string, string],
      string,
      (user: string, password: string, run: Run) =>
        run.makeText((user.length + password.length) * 2) ??
        `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
    ),
  ),
  ...both("url.parse", "parseUrl", [string], textMap, reading(parseUrl)),
  define(
    "isURL",
    member(
      "string_is_url",
      [string],
      bool,
      reading((text) => URL.canParse(text)),
    ),
  ),
];
