/** The string extension of cel-go: `charAt`, `indexOf`, `replace`, `split`, `substring` and others. */
import { defineFunction, defineMember, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration } from "../checking/function-declarations.ts";
import { CelFailure } from "../values/cel-failure.ts";
import type { Result, Run } from "../values/budget.ts";
import { countPoints, isSpace, pointOffset, pointsOf, sliceText, trimText, unitOffset } from "../values/text.ts";
import { listOf, types } from "../checking/cel-types.ts";
import { toInt as intOf } from "../values/cel-values.ts";
import { formatText } from "./format-function.ts";

const { int, string, dyn } = types;
const strings = listOf(string);

function failOutside(place: bigint, length: number): CelFailure {
  return new CelFailure(`there is no character ${place} in a text of ${length}`);
}

function charAt(text: string, place: bigint, run: Run): Result {
  const spent = run.spendText(2 * text.length);
  if (spent) return spent;
  const length = countPoints(text);
  if (place < 0n || place > BigInt(length)) return failOutside(place, length);
  return sliceText(text, Number(place), Number(place) + 1);
}

function indexOf(text: string, part: string, from: bigint, run: Run): Result {
  const spent = run.spendSearch(2 * text.length, part.length);
  if (spent) return spent;
  const length = countPoints(text);
  if (from < 0n || from > BigInt(length)) return failOutside(from, length);
  const unit = text.indexOf(part, unitOffset(text, Number(from)));
  return intOf(unit < 0 ? -1 : pointOffset(text, unit));
}

function lastIndexOf(text: string, part: string, from: bigint | undefined, run: Run): Result {
  const spent = run.spendSearch(2 * text.length, part.length);
  if (spent) return spent;
  const length = countPoints(text);
  if (from !== undefined && (from < 0n || from > BigInt(length))) return failOutside(from, length);
  const unit = text.lastIndexOf(part, from === undefined ? text.length : unitOffset(text, Number(from)));
  return intOf(unit < 0 ? -1 : pointOffset(text, unit));
}

function takeSubstring(text: string, start: bigint, end: bigint | undefined, run: Run): Result {
  const spent = run.spendText(2 * text.length);
  if (spent) return spent;
  const length = countPoints(text);
  for (const place of [start, end ?? start])
    if (place < 0n || place > BigInt(length)) return failOutside(place, length);
  if (end !== undefined && start > end) return new CelFailure(`a part cannot be from ${start} to ${end}`);
  return sliceText(text, Number(start), end === undefined ? length : Number(end));
}

/** Replaces the first `limit` occurrences, or all. */
function replaceText(text: string, from: string, to: string, limit: bigint | undefined, run: Run): Result {
  const spent = run.spendSearch(text.length, from.length);
  if (spent) return spent;
  if (limit === 0n) return text;
  const most = limit === undefined || limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  const pieces = from === "" ? ["", ...(pointsOf(text) ?? Array.from(text)), ""] : text.split(from);
  const places = Math.min(pieces.length - 1, most);
  const made = run.spend(pieces.length >> 5) ?? run.makeText(text.length + places * (to.length - from.length));
  if (made) return made;
  return (
    pieces.slice(0, places + 1).join(to) + pieces.slice(places + 1).reduce((rest, piece) => rest + from + piece, "")
  );
}

/** Like cel-go: a limit of 0 returns nothing, a negative one everything, and the last part contains the rest. */
function splitText(text: string, separator: string, limit: bigint | undefined, run: Run): Result {
  if (limit === 0n) return [];
  const pieces = piecesOf(text, separator, run);
  if (pieces instanceof CelFailure) return pieces;
  const most = limit === undefined || limit < 0n ? pieces.length : Number(limit);
  const failed = run.makeItems(Math.min(pieces.length, most));
  if (failed) return failed;
  if (most >= pieces.length) return pieces;
  return [...pieces.slice(0, most - 1), pieces.slice(most - 1).join(separator)];
}

function piecesOf(text: string, separator: string, run: Run): readonly string[] | CelFailure {
  const spent = run.spendSearch(text.length, separator.length);
  return spent ?? (separator === "" ? Array.from(text) : text.split(separator));
}

function joinTexts(parts: readonly unknown[], separator: string, run: Run): Result {
  const spent = run.spendItems(parts.length);
  if (spent) return spent;
  const texts = parts.filter((part) => typeof part === "string");
  if (texts.length < parts.length) return new CelFailure("join takes a list of strings");
  const between = separator.length * Math.max(0, texts.length - 1);
  return run.makeText(texts.reduce((sum, { length }) => sum + length, between)) ?? texts.join(separator);
}

function lowerAscii(text: string, run: Run): Result {
  return run.spendText(4 * text.length) ?? text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function upperAscii(text: string, run: Run): Result {
  return run.spendText(4 * text.length) ?? text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** CEL escapes for characters that cannot appear literally. */
export const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/** Quotes a text as a literal that parses to the same text. */
function quoteText(text: string, run: Run): Result {
  const spent = run.spendText(4 * text.length);
  if (spent) return spent;
  let escaped = 0;
  for (let at = 0; at < text.length; at += 1) if (Object.hasOwn(escapes, text.charAt(at))) escaped += 1;
  const failed = run.makeText(text.length + escaped + 2) ?? run.spend(escaped >> 2);
  if (failed) return failed;
  // oxlint-disable-next-line no-control-regex
  return `"${text.toWellFormed().replaceAll(/[\u0007-\r"\\]/g, (sign) => escapes[sign] ?? sign)}"`;
}

export const stringFunctions: readonly FunctionDeclaration[] = [
  defineFunction("charAt", defineMember("string_char_at_int", [string, int], string, charAt)),
  defineFunction(
    "indexOf",
    defineMember("string_index_of_string", [string, string], int, (text: string, part: string, run: Run) =>
      indexOf(text, part, 0n, run),
    ),
    defineMember("string_index_of_string_int", [string, string, int], int, indexOf),
  ),
  defineFunction(
    "lastIndexOf",
    defineMember("string_last_index_of_string", [string, string], int, (text: string, part: string, run: Run) =>
      lastIndexOf(text, part, undefined, run),
    ),
    defineMember("string_last_index_of_string_int", [string, string, int], int, lastIndexOf),
  ),
  defineFunction(
    "substring",
    defineMember("string_substring_int", [string, int], string, (text: string, start: bigint, run: Run) =>
      takeSubstring(text, start, undefined, run),
    ),
    defineMember("string_substring_int_int", [string, int, int], string, takeSubstring),
  ),
  defineFunction(
    "replace",
    defineMember(
      "string_replace_string_string",
      [string, string, string],
      string,
      (a: string, b: string, c: string, run: Run) => replaceText(a, b, c, undefined, run),
    ),
    defineMember("string_replace_string_string_int", [string, string, string, int], string, replaceText),
  ),
  defineFunction(
    "split",
    defineMember("string_split_string", [string, string], strings, (text: string, separator: string, run: Run) =>
      splitText(text, separator, undefined, run),
    ),
    defineMember("string_split_string_int", [string, string, int], strings, splitText),
  ),
  defineFunction(
    "join",
    defineMember("list_join", [strings], string, (parts: readonly unknown[], run: Run) => joinTexts(parts, "", run)),
    defineMember("list_join_string", [strings, string], string, joinTexts),
  ),
  defineFunction(
    "trim",
    defineMember(
      "string_trim",
      [string],
      string,
      (text: string, run: Run) => run.spendText(4 * text.length) ?? trimText(text),
    ),
  ),
  defineFunction(
    "reverse",
    defineMember(
      "string_reverse",
      [string],
      string,
      (text: string, run: Run) => run.spendText(8 * text.length) ?? Array.from(text).reverse().join(""),
    ),
  ),
  defineFunction("lowerAscii", defineMember("string_lower_ascii", [string], string, lowerAscii)),
  defineFunction("upperAscii", defineMember("string_upper_ascii", [string], string, upperAscii)),
  defineFunction("strings.quote", defineOverload("strings_quote", [string], string, quoteText)),
  defineFunction("format", defineMember("string_format", [string, listOf(dyn)], string, formatText)),
];

/** Returns at most `limit` parts and drops the rest. */
function splitAtMost(text: string, separator: string, limit: bigint, run: Run): Result {
  const pieces = piecesOf(text, separator, run);
  if (pieces instanceof CelFailure) return pieces;
  const kept = limit < 0n ? pieces : pieces.slice(0, Number(limit));
  return run.makeItems(kept.length) ?? kept;
}

function countWords(text: string, run: Run): Result {
  const spent = run.spendText(text.length);
  if (spent) return spent;
  const found: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && !isSpace(text.charCodeAt(at))) continue;
    if (at > start) found.push(text.slice(start, at));
    start = at + 1;
  }
  return run.makeItems(found.length) ?? found;
}

/**
 * `split` of traffic policies: `'a,b,c'.split(',', 2)` is `['a', 'b']`, and without arguments it splits at white space.
 * Listed after `stringFunctions` because it replaces one of them.
 */
export const policySplit: FunctionDeclaration = defineFunction(
  "split",
  defineMember("string_split", [string], strings, countWords),
  defineMember("string_split_string_int", [string, string, int], strings, splitAtMost),
);
