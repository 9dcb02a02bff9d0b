/** The words of a filter. */
import { Refusal } from "../../lib/errors.ts";

export interface Token {
  readonly kind: "name" | "string" | "number" | "sign" | "end";
  /** What it says; of a string, its value. */
  readonly text: string;
  /** Character at which it starts, from 1. */
  readonly at: number;
}

/** UTF-16 code units of a filter. */
const maxLength = 1000;

const pattern =
  /[ \t\r\n]*(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|("(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')|(&&|\|\||==|!=|<=|>=|[<>!().,[\]-]))/y;

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "'": "'",
  "\\": "\\",
};

/** Throws `Refusal` for what no filter can have in it. */
export function tokensOf(text: string): Token[] {
  if (text.length > maxLength) throw filterRefusal(`must be at most ${maxLength} characters, is ${text.length}`);
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  pattern.lastIndex = 0;
  while (pattern.lastIndex < end) {
    const from = pattern.lastIndex;
    const found = pattern.exec(text);
    if (!found) throw filterRefusal(`cannot be read at character ${from + 1}`);
    const [all, name, number, quoted, sign] = found;
    const said = name ?? number ?? quoted ?? (sign as string);
    const at = from + all.length - said.length + 1;
    if (name !== undefined) tokens.push({ kind: "name", text: name, at });
    else if (number !== undefined) tokens.push({ kind: "number", text: number, at });
    else if (quoted !== undefined) tokens.push({ kind: "string", text: unquoted(quoted, at), at });
    else tokens.push({ kind: "sign", text: sign as string, at });
  }
  tokens.push({ kind: "end", text: "the end", at: text.length + 1 });
  return tokens;
}

function unquoted(text: string, at: number): string {
  return text.slice(1, -1).replaceAll(/\\(?:u([0-9A-Fa-f]{4})|(.))/g, (all, code?: string, letter?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    const escaped = escapes[letter as string];
    if (escaped === undefined) throw filterRefusal(`has the unknown escape ${all} in the string at character ${at}`);
    return escaped;
  });
}

export function filterRefusal(problem: string): Refusal {
  return new Refusal("filter_invalid", `"filter" ${problem}`, { filter: problem });
}
