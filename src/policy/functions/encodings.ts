/** base64, URLs, JSON, query strings, Basic credentials. */
import { defineFunction, defineMember, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration, Native } from "../../cel/checking/function-declarations.ts";
import { mapOf, types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { mapGet, mapKeys } from "../../cel/values/map.ts";
import type { MapValue } from "../../cel/values/cel-values.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { maxJsonDepth } from "../../lib/json.ts";
import { jsonText, textOf } from "../language/text-of.ts";

const { string, bool, bytes, dyn } = types;
const textMap = mapOf(string, string);
const anyMap = mapOf(dyn, dyn);

/**
 * Charges for the text and returns the text from `make`. If `make` throws, the result is a failure.
 * @param lengthOf maximum length of the result, UTF-16 code units
 */
function chargeText(lengthOf: (text: string) => number, make: (text: string) => string) {
  return (text: string, run: Run): Result => {
    const spent = run.spendText(4 * text.length) ?? run.makeText(lengthOf(text));
    if (spent) return spent;
    try {
      return make(text);
    } catch {
      return new CelFailure("the text cannot be decoded");
    }
  };
}

/** Cost of parsing compared with a search. */
const readingCost = 3;

function chargeReading(read: (text: string) => Result) {
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

function decodeBase64(text: string): Buffer | CelFailure {
  return base64.test(text) ? Buffer.from(text, "base64") : new CelFailure("the text is not base64");
}

function decodeBase64Text(text: string): Result {
  const decoded = decodeBase64(text);
  return decoded instanceof CelFailure ? decoded : decoded.toString("utf8");
}

const escapeUrl = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

function decodeJson(text: string): Result {
  const found = jsonOf(text);
  return found === undefined
    ? new CelFailure(`the text is not JSON, or nested deeper than ${maxJsonDepth}`)
    : found.value;
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
      if (name instanceof CelFailure) return name;
      if (text instanceof CelFailure) return text;
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
  if (!url) return new CelFailure("the text is not a URL");
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
function declareBoth(name: string, asMember: string, from: readonly Type[], result: Type, evaluate: Native) {
  const id = name.replace(".", "_");
  return [
    defineFunction(name, ...from.map((type, at) => defineOverload(`${id}_${at}`, [type], result, evaluate))),
    defineFunction(asMember, ...from.map((type, at) => defineMember(`${asMember}_${at}`, [type], result, evaluate))),
  ];
}

const lists: Type = { is: "list", of: dyn };

export const encodingFunctions: readonly FunctionDeclaration[] = [
  defineFunction(
    "base64.encode",
    defineOverload(
      "base64_encode",
      [bytes],
      string,
      (given: Uint8Array, run: Run) =>
        run.makeText(base64Length(given.length)) ?? Buffer.from(given).toString("base64"),
    ),
  ),
  defineFunction("base64.decode", defineOverload("base64_decode", [string], bytes, chargeReading(decodeBase64))),
  defineFunction(
    "encodeBase64",
    defineMember(
      "string_encode_base64",
      [string],
      string,
      chargeText(
        (text) => base64Length(Buffer.byteLength(text)),
        (text) => Buffer.from(text).toString("base64"),
      ),
    ),
  ),
  defineFunction(
    "decodeBase64",
    defineMember("string_decode_base64", [string], string, chargeReading(decodeBase64Text)),
  ),
  ...declareBoth("url.escape", "escapeUrl", [string], string, chargeText(escapedLength, escapeUrl)),
  ...declareBoth(
    "url.unescape",
    "unescapeUrl",
    [string],
    string,
    chargeText(
      ({ length }) => length,
      (text) => decodeURIComponent(text.replaceAll("+", " ")),
    ),
  ),
  ...declareBoth("json.decode", "decodeJson", [string], dyn, chargeReading(decodeJson)),
  defineFunction("json.encode", defineOverload("json_encode", [dyn], string, encodeJson)),
  defineFunction(
    "encodeJson",
    defineMember("list_encode_json", [lists], string, encodeJson),
    defineMember("map_encode_json", [anyMap], string, encodeJson),
  ),
  defineFunction(
    "isJson",
    defineMember(
      "string_is_json",
      [string],
      bool,
      chargeReading((text) => jsonOf(text) !== undefined),
    ),
  ),
  ...declareBoth("queryString.decode", "decodeQueryString", [string], textMap, chargeReading(decodeQuery)),
  ...declareBoth("queryString.encode", "encodeQueryString", [anyMap], string, encodeQuery),
  defineFunction(
    "isQueryString",
    defineMember(
      "string_is_query_string",
      [string],
      bool,
      chargeReading((text) => /^[^=&#\s]+=[^&#\s]*(?:&[^=&#\s]+=[^&#\s]*)*$/.test(text)),
    ),
  ),
  defineFunction(
    "basic_auth.encode",
    defineOverload(
      "basic_auth_encode",
      [string, string],
      string,
      (user: string, password: string, run: Run) =>
        run.spendText(2 * (user.length + password.length)) ??
        run.makeText(6 + base64Length(Buffer.byteLength(user) + Buffer.byteLength(password) + 1)) ??
        `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
    ),
  ),
  ...declareBoth("url.parse", "parseUrl", [string], textMap, chargeReading(parseUrl)),
  defineFunction(
    "isURL",
    defineMember(
      "string_is_url",
      [string],
      bool,
      chargeReading((text) => URL.canParse(text)),
    ),
  ),
];
