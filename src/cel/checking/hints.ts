/** Messages for type errors, and suggestions. */
import type { Overload } from "./function-declarations.ts";
import type { Environment } from "./environment.ts";
import { findNearest } from "../../lib/nearest.ts";
import type { Node } from "../syntax/tree.ts";
import { typePhrase } from "./cel-types.ts";
import type { Type } from "./cel-types.ts";
import type { Value } from "../values/cel-values.ts";

/** Names in other languages. */
const otherNames: Readonly<Record<string, string>> = {
  includes: "contains",
  has: "contains",
  length: "size",
  len: "size",
  count: "size",
  toLowerCase: "lowerAscii",
  toUpperCase: "upperAscii",
  lower: "lowerAscii",
  upper: "upperAscii",
  strip: "trim",
  match: "matches",
  test: "matches",
  any: "exists",
  some: "exists",
  every: "all",
};

/** Shortens a name from a source for a message. */
export function shortenName(name: string): string {
  return name.length > 64 ? `${name.slice(0, 63)}…` : name;
}

/** CEL extensions of other implementations. */
const leftOut: ReadonlySet<string> = new Set(["cel", "math", "optional", "proto", "regex", "sets"]);

/** For a name that is known elsewhere, or nowhere. */
function hintForOrigin(name: string, { elsewhere }: Environment): string | undefined {
  const where = elsewhere?.(name);
  if (where !== undefined) return `it is there ${where}`;
  const root = name.split(".", 1)[0] as string;
  return leftOut.has(root) ? `the extension "${root}" of CEL is not part of the language here` : undefined;
}

export function hintForName(path: string, environment: Environment): string | undefined {
  const origin = hintForOrigin(path, environment);
  if (origin !== undefined) return origin;
  const { variables } = environment;
  const parts = hintForParts(path, variables.keys());
  if (parts !== undefined) return parts;
  const last = lastOf(path);
  const sameRoot = Array.from(variables.keys()).filter((name) => name.split(".", 1)[0] === path.split(".", 1)[0]);
  const sameLast = sameRoot.find((name) => lastOf(name) === last && name !== path);
  const dot = path.lastIndexOf(".");
  // For `req.metod.x`, the nearest match of `req.metod`.
  const near =
    sameLast ?? findAlike(path, variables.keys()) ?? (dot === -1 ? undefined : findAlike(path.slice(0, dot), sameRoot));
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

/** Lists what is declared below a name, when something else was selected from it. */
function hintForParts(path: string, declared: Iterable<string>): string | undefined {
  const whole = path.slice(0, path.lastIndexOf("."));
  const names = Array.from(declared);
  const below = names.filter((name) => name.startsWith(`${whole}.`));
  const parts = new Set(below.map((name) => name.slice(whole.length + 1).split(".", 1)[0] as string));
  return names.includes(whole) && parts.size > 0 ? hintForField(lastOf(path), parts) : undefined;
}

/** Longer names are not compared, because that takes the product of their lengths. */
const maxCompared = 64;

/** Like `nearest`, but two wrong letters are too many in a short name. */
function findAlike(name: string, known: Iterable<string>): string | undefined {
  const near = name.length > maxCompared ? undefined : findNearest(name, known);
  return near !== undefined && (name.length > 4 || near[0] === name[0]) ? near : undefined;
}

export function hintForFunction(name: string, environment: Environment): string | undefined {
  const origin = hintForOrigin(name, environment);
  if (origin !== undefined) return origin;
  const { functions } = environment;
  const known = Array.from(functions.keys()).filter((one) => /^[a-z]/i.test(one));
  const all = [...known, ...macros];
  const other = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined;
  const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const near =
    (other !== undefined && all.includes(other) ? other : undefined) ??
    all.find((one) => one.toLowerCase() === camel.toLowerCase()) ??
    known.find((one) => lastOf(one) === name) ??
    findAlike(name, all);
  if (near === undefined) return undefined;
  if (near === name) return `${name} takes other arguments: list.${name}(x, …)`;
  return `did you mean "${near}"?`;
}

const macros = ["all", "exists", "exists_one", "filter", "map", "sortBy", "has"];

export function hintForField(name: string, fields: Iterable<string>): string | undefined {
  const known = Array.from(fields);
  const near = findAlike(name, known);
  if (near !== undefined) return `did you mean "${near}"?`;
  return known.length > 40 ? undefined : `known are: ${known.join(", ")}`;
}

/** For a value without fields. */
export function hintForMissingField(name: string, { is }: Type): string | undefined {
  const isSized = is === "string" || is === "list" || is === "bytes";
  return isSized && ["length", "len", "count", "size"].includes(name) ? "write size(…)" : undefined;
}

export function hintForResult(wanted: Type, found: Type): string | undefined {
  if (wanted.is !== "bool") return undefined;
  if (found.is === "string") return "compare it, as in … == 'text'";
  if (found.is === "list" || found.is === "map") return "ask for its size, as in size(…) > 0, or use exists";
  return "compare it with something";
}

interface Misfit {
  readonly name: string;
  readonly isMember: boolean;
  readonly children: readonly Node[];
  readonly found: readonly Type[];
  readonly overloads: readonly Overload[];
  readonly source: string;
}

/** Explains a call that no overload fits. */
export function hintForCall(misfit: Misfit): { readonly message: string; readonly hint: string | undefined } {
  const { name, isMember, children, overloads, source } = misfit;
  const found = misfit.found.map((type) => (type.is === "nullable" ? type.of : type));
  const operator = /^(?:_([^_[?]+)_|@(in)|([!-])_)$/.exec(name);
  const sign = operator?.[1] ?? operator?.[2] ?? operator?.[3];
  const kinds = found.map(typePhrase);
  if (sign !== undefined) {
    const message = `${sign} does not take ${kinds.join(" and ")}`;
    return { message, hint: hintForOperator(sign, children, found, source) };
  }
  if (name === "_[_]") {
    return { message: `${kinds[0]} has no items under ${kinds[1]}`, hint: indexHint(found) };
  }
  if (name === "_?_:_") {
    return {
      message: `the parts of … ? … : … do not fit: ${kinds.join(", ")}`,
      hint: "the first must be a bool, the others of one type",
    };
  }
  const called = (args: readonly string[]): string => `${name}(${args.join(", ")})`;
  const [target, part] = children;
  const isSearch = isMember && name === "contains" && found[0]?.is === "list";
  if (isSearch && target && part) {
    const [list, item] = [target, part].map((node) => shortenName(source.slice(node.from, node.to)));
    return { message: `${kinds[0]} has no ${name}(…)`, hint: `write \`${item} in ${list}\`` };
  }
  const message = isMember ? `${kinds[0]} has no ${called(kinds.slice(1))}` : `there is no ${called(kinds)}`;
  const known = overloads.map((overload) => renderSignature(name, overload));
  return { message, hint: known.length <= 6 ? `known: ${known.join(", ")}` : undefined };
}

function renderSignature(name: string, { isMember, parameters }: Overload): string {
  const kinds = parameters.map(typePhrase).map((phrase) => phrase.replace(/^an? /, ""));
  return isMember ? `${kinds[0]}.${name}(${kinds.slice(1).join(", ")})` : `${name}(${kinds.join(", ")})`;
}

function indexHint([from]: readonly Type[]): string | undefined {
  if (from?.is === "list") return "the items of a list are numbered from 0";
  return from?.is === "string" ? "write charAt(…) for a character of a string" : undefined;
}

function hintForOperator(
  sign: string,
  children: readonly Node[],
  found: readonly Type[],
  source: string,
): string | undefined {
  const [left, right] = children;
  const [one, other] = found;
  if (!left || !right || !one || !other) return undefined;
  const texts = [source.slice(left.from, left.to), source.slice(right.from, right.to)].map(shortenName);
  for (const at of [0, 1]) {
    const list = found[at] as Type;
    const item = found[1 - at] as Type;
    if (list.is === "list" && sign !== "in" && item.is !== "list") {
      return `\`${texts[at]}\` is ${typePhrase(list)}; did you mean \`${texts[at]}[0] ${sign} ${texts[1 - at]}\` or \`${texts[1 - at]} in ${texts[at]}\`?`;
    }
    const isNumber = ["int", "uint", "double"].includes(list.is);
    if (isNumber && item.is === "string") {
      const literal = children[1 - at] as Node;
      const text = literal.kind === "literal" && typeof literal.value === "string" ? literal.value : "";
      if (/^\d+$/.test(text)) return `\`${texts[at]}\` is ${typePhrase(list)}: write ${text} without quotes`;
      return `\`${texts[at]}\` is ${typePhrase(list)}: write int(${texts[1 - at]}) to compare numbers`;
    }
  }
  if (sign === "in" && right.kind === "literal" && isNetwork(right.value)) {
    return `write \`inCidrRange(${texts[0]}, ${texts[1]})\` to look into a network`;
  }
  if (sign === "in" && one.is === "string" && other.is === "string") {
    return `write \`${texts[1]}.contains(${texts[0]})\` to look for a part of a string`;
  }
  for (const at of [0, 1]) {
    const { is } = found[at] as Type;
    const literal = children[1 - at] as Node;
    const isText = (found[1 - at] as Type).is === "string";
    if ((is === "timestamp" || is === "duration") && isText) return `write \`${is}(${texts[1 - at]})\``;
    if (is === "bool" && literal.kind === "literal" && (literal.value === "true" || literal.value === "false")) {
      return `\`${texts[at]}\` already is true or false: write ${literal.value} without quotes, or leave it out`;
    }
  }
  const numbers = ["int", "uint", "double"];
  if (numbers.includes(one.is) && numbers.includes(other.is)) {
    return `write double(…), or give both numbers the same form: 1 is an int, 1u a uint, 1.0 a double`;
  }
  return undefined;
}

function isNetwork(value: Value): boolean {
  return typeof value === "string" && /^[\da-f.:]+\/\d{1,3}$/i.test(value);
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
