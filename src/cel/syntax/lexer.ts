/** Splits a source into tokens. */
import { bytesLiteral, stringLiteral } from "./quoted.ts";
import { SourceFault } from "./source-fault.ts";
import { isInt, isUint, Uint } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

export interface Token {
  /** `field` is a name in backticks, which is allowed only after a dot. */
  readonly kind: "name" | "field" | "literal" | "number" | "sign" | "end";
  /** The token's text; for a literal, its source. */
  readonly text: string;
  readonly value?: Value;
  readonly from: number;
  readonly to: number;
}

/** A comment ends with its line. Two slashes have no other meaning. */
const blank = String.raw`(?:[ \t\r\n\f]|//[^\n]*(?:\n|$))*`;
const name = String.raw`[A-Za-z_][A-Za-z0-9_]*`;
const field = "`[A-Za-z0-9_.\\-/ ]+`";
const number = String.raw`0[xX][0-9A-Fa-f]+[uU]?|(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+[uU]?`;
const cooked = String.raw`[bB]?(?:"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\[^\r\n]|[^\\\r\n"])*"|'(?:\\[^\r\n]|[^\\\r\n'])*')`;
const raw = String.raw`[bB]?[rR](?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\r\n]*"|'[^'\r\n]*')`;
const sign = String.raw`&&|\|\||==|!=|<=|>=|[<>!?:.,+\-*%()[\]{}]|/(?!/)`;
const word = new RegExp(`${blank}(?:(${raw}|${cooked})|(${name})|(${field})|(${number})|(${sign})|$)`, "y");

/**
 * Words that cannot be names, reserved for future versions of the language (CEL, "Syntax"). After a dot they are
 * fields.
 */
export const reserved: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** Throws `SourceFault` for invalid input. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  word.lastIndex = 0;
  for (;;) {
    const start = word.lastIndex;
    const found = word.exec(source);
    if (!found) throw faultAt(source, start);
    const [, string, identifier, back, digits, operator] = found;
    const text = string ?? identifier ?? back ?? digits ?? operator ?? "";
    const to = word.lastIndex;
    const from = to - text.length;
    if (string !== undefined) tokens.push({ kind: "literal", text, from, to, value: readQuotedValue(string, from) });
    else if (identifier !== undefined) tokens.push({ kind: "name", text, from, to });
    else if (back !== undefined) tokens.push({ kind: "field", text: back.slice(1, -1), from, to });
    else if (digits !== undefined) tokens.push({ kind: "number", text, from, to });
    else if (operator !== undefined) tokens.push({ kind: "sign", text, from, to });
    else {
      tokens.push({ kind: "end", text: "", from: to, to });
      return tokens;
    }
  }
}

/**
 * Where the expression that begins at `from` ends, in a text that goes on after a closing brace: `a` of `${a} and so on`.
 * Braces and quotes of the expression itself are read over. undefined when the brace is missing, or before it something
 * is no word of the language.
 */
export function endOfExpression(text: string, from: number): number | undefined {
  let open = 0;
  word.lastIndex = from;
  for (;;) {
    const found = word.exec(text);
    // The rest is empty or blank.
    if (!found || found.slice(1).every((part) => part === undefined)) return undefined;
    const sign = found[5];
    if (sign === "{") open += 1;
    else if (sign === "}") {
      if (open === 0) return word.lastIndex - 1;
      open -= 1;
    }
  }
}

function faultAt(source: string, start: number): SourceFault {
  const rest = new RegExp(blank, "y");
  rest.lastIndex = start;
  rest.exec(source);
  const at = rest.lastIndex;
  const sign = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (sign === '"' || sign === "'") return new SourceFault(at, "the string is not closed");
  if (sign === "`") return new SourceFault(at, "a name in backticks has letters, digits and _ . - / or a space in it");
  const hints: Readonly<Record<string, string>> = {
    "=": "to compare, write `==`",
    "&": "to join conditions, write `&&`",
    "|": "to join conditions, write `||`",
    $: "an expression has no `${…}` around it",
  };
  return new SourceFault(at, `${JSON.stringify(sign)} cannot stand here`, hints[sign]);
}

function readQuotedValue(text: string, at: number): Value {
  const prefix = /^[bBrR]*/.exec(text)?.[0].toLowerCase() ?? "";
  const start = prefix.length;
  const width = text.startsWith('"""', start) || text.startsWith("'''", start) ? 3 : 1;
  const inner = text.slice(start + width, -width);
  const isRaw = prefix.includes("r");
  return prefix.includes("b") ? bytesLiteral(inner, isRaw, at) : stringLiteral(inner, isRaw, at);
}

/** Parses a number together with its minus, so that the smallest int can be written. Throws `SourceFault`. */
export function numberValue({ text, from }: Token, isNegative: boolean): Value {
  const whole = /^(?:0[xX][0-9A-Fa-f]+|[0-9]+)[uU]?$/.test(text);
  if (!whole) {
    const value = Number(text);
    if (!Number.isFinite(value)) throw new SourceFault(from, "the number is too large for a double");
    return isNegative ? -value : value;
  }
  const isUnsigned = /[uU]$/.test(text);
  const value = BigInt(isUnsigned ? text.slice(0, -1) : text) * (isNegative ? -1n : 1n);
  if (isUnsigned ? !isUint(value) : !isInt(value)) {
    throw new SourceFault(from, `the number does not fit ${isUnsigned ? "a uint" : "an int"} of 64 bits`);
  }
  return isUnsigned ? new Uint(value) : value;
}
