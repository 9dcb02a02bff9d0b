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
import { jsonText, textOf } from "../language/text-of.ts";

const { string, bool, bytes, dyn } = types;
const textMap = mapOf(string, string);
const anyMap = mapOf(dyn, dyn);

/**
 * Charges for the text and returns the text from `make`. If `make` throws, the result is a failure.
 * @param lengthOf maximum length of the result, UTF-16 code units
 */
function making(lengthOf: (text: string) => number, make: (text: string) => string) {
  return (text: string, run: Run): Result => {
    const spent = run.spendText(4 * text.length) ?? run.makeText(lengthOf(text));
    if (spent) return spent;
    try {
      return make(text);
    } catch {
      return new Failure("the text cannot be decoded");
    }
  };
}

/** Cost of parsing compared with a search. */
const readingCost = 3;

function reading(read: (text: string) => Result) {
  return (text: string, run: Run): Result =>
    run.makeText(text.length) ?? run.spendText(readingCost * text.length) ?? read(text);
}

/** Returns the length of base64. */
function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/** Returns the length of a text after percent-encoding. A lone surrogate may make the result shorter. */
function escapedLength(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isHalf = unit >= 0xd8_00 && unit <= 0xdf_ff;
    length += unit >= 0x8_00 && !isHalf ? 9 : unit >= 0x80 ? 6 + (isHalf ? 3 : 0) : isUnreserved(unit) ? 1 : 3;
  }
  return length;
}

/** Letters, digits and `-._~` (RFC 3986 §2.3). */
function isUnreserved(unit: number): boolean {
  if (unit >= 0x61) return unit <= 0x7a || unit === 0x7e;
  if (unit >= 0x41) return unit <= 0x5a || unit === 0x5f;
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x2d || unit === 0x2e;
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

const encodeJson = (value: Value, run: Run): Result => jsonText(value, run);

function decodeQuery(text: string): Result {
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(text)) if (!(name in found)) found[name] = value;
  return found;
}

function encodeQuery(map: MapValue, run: Run): Result {
  const pairs = new URLSearchParams();
  const keys = mapKeys(map);
  let length = 0;
  const spent = run.spendItems(4 * keys.length);
  if (spent) return spent;
  for (const key of keys) {
    const value = mapGet(map, key);
    for (const one of Array.isArray(value) ? (value as readonly Value[]) : [value ?? null]) {
      const [name, text] = [textOf(key, run), textOf(one, run)];
      if (name instanceof Failure) return name;
      if (text instanceof Failure) return text;
      const added = run.spendText(4 * (name.length + text.length)) ?? run.spend(1);
      if (added) return added;
      length += escapedLength(name) + escapedLength(text) + 2;
      if (length > run.limits.textLength) return run.makeText(length) ?? "";
      pairs.append(name, text);
    }
  }
  return run.makeText(length) ?? pairs.toString();
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

/** Declares a function, `json.decode(s)`, and the same member, `s.decodeJson()`. */
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
      (given: Uint8Array, run: Run) =>
        run.makeText(base64Length(given.length)) ?? Buffer.from(given).toString("base64"),
    ),
  ),
  define("base64.decode", overload("base64_decode", [string], bytes, reading(decodeBase64))),
  define(
    "encodeBase64",
    member(
      "string_encode_base64",
      [string],
      string,
      making(
        (text) => base64Length(Buffer.byteLength(text)),
        (text) => Buffer.from(text).toString("base64"),
      ),
    ),
  ),
  define("decodeBase64", member("string_decode_base64", [string], string, reading(decodeBase64Text))),
  ...both("url.escape", "escapeUrl", [string], string, making(escapedLength, escapeUrl)),
  ...both(
    "url.unescape",
    "unescapeUrl",
    [string],
    string,
    making(
      ({ length }) => length,
      (text) => decodeURIComponent(text.replaceAll("+", " ")),
    ),
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
        run.spendText(2 * (user.length + password.length)) ??
        run.makeText(6 + base64Length(Buffer.byteLength(user) + Buffer.byteLength(password) + 1)) ??
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
