/**
 * Filters of lists: a subset of CEL over `obj`. Comparisons, `&&`, `||`, `!`, `in`, lists, and of strings
 * `startsWith`, `endsWith` and `contains`; `size()` of strings, lists and maps. Types are checked before any object
 * is looked at; a part that is null at an object makes its comparison false.
 */
import { filterRefusal, tokensOf } from "./tokens.ts";
import type { Token } from "./tokens.ts";
import { nameOf } from "./types.ts";
import type { Type } from "./types.ts";

/** Evaluates a part on an object as clients see it. */
type Evaluate = (object: unknown) => unknown;

interface Part {
  readonly type: Type;
  readonly value: Evaluate;
}

/** Parts of one filter, and how deep they may be inside each other. */
const maxParts = 100;
const maxDepth = 20;

/** Throws `Refusal` that says what cannot be read, or what does not fit `obj`. */
export function parseFilter(text: string, obj: Type): (object: unknown) => boolean {
  const parser = new Parser(tokensOf(text), obj);
  const { value } = parser.whole();
  return (object) => value(object) === true;
}

const boolean: Type = { is: "boolean" };
const number: Type = { is: "number" };
const string: Type = { is: "string" };
const nothing: Type = { is: "null" };

class Parser {
  readonly #tokens: readonly Token[];
  readonly #obj: Type;
  #next = 0;
  #parts = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], obj: Type) {
    this.#tokens = tokens;
    this.#obj = obj;
  }

  whole(): Part {
    const part = this.#truth(this.#or(), 1);
    if (this.#token.kind !== "end") throw this.#unexpected("&&, || or the end");
    return part;
  }

  get #token(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(...signs: readonly string[]): string | undefined {
    const { kind, text } = this.#token;
    if ((kind !== "sign" && text !== "in") || !signs.includes(text)) return undefined;
    this.#next += 1;
    return text;
  }

  #expect(sign: string): void {
    if (this.#take(sign) === undefined) throw this.#unexpected(`"${sign}"`);
  }

  #unexpected(wanted: string): Error {
    const { text, at, kind } = this.#token;
    const found = kind === "end" ? "it ends" : `there is ${JSON.stringify(text.slice(0, 32))}`;
    return filterRefusal(`must have ${wanted} at character ${at}, ${found}`);
  }

  #count(): void {
    this.#parts += 1;
    if (this.#parts > maxParts) throw filterRefusal(`must have at most ${maxParts} parts`);
  }

  #truth(part: Part, at: number): Part {
    if (part.type.is === "boolean") return part;
    throw filterRefusal(`must say true or false at character ${at}, that is ${nameOf(part.type)}`);
  }

  #or(): Part {
    const at = this.#token.at;
    this.#depth += 1;
    if (this.#depth > maxDepth) throw filterRefusal(`must be nested at most ${maxDepth} deep`);
    let left = this.#and();
    while (this.#take("||")) {
      const one = this.#truth(left, at).value;
      const other = this.#truth(this.#and(), at).value;
      left = { type: boolean, value: (object) => one(object) === true || other(object) === true };
    }
    this.#depth -= 1;
    return left;
  }

  #and(): Part {
    const at = this.#token.at;
    let left = this.#relation();
    while (this.#take("&&")) {
      const one = this.#truth(left, at).value;
      const other = this.#truth(this.#relation(), at).value;
      left = { type: boolean, value: (object) => one(object) === true && other(object) === true };
    }
    return left;
  }

  #relation(): Part {
    const left = this.#unary();
    const at = this.#token.at;
    const sign = this.#take("==", "!=", "<", "<=", ">", ">=", "in");
    if (sign === undefined) return left;
    const right = this.#unary();
    if (sign === "in") return membership(left, right, at);
    return comparison(sign, left, right, at);
  }

  #unary(): Part {
    this.#count();
    const at = this.#token.at;
    let negations = 0;
    while (this.#take("!")) negations += 1;
    if (negations > 0) {
      const { value } = this.#truth(this.#member(), at);
      return { type: boolean, value: negations % 2 === 0 ? value : (object) => value(object) !== true };
    }
    if (this.#take("-")) {
      const part = this.#member();
      if (part.type.is !== "number") throw filterRefusal(`must have a number after "-" at character ${at}`);
      return { type: number, value: (object) => -(part.value(object) as number) };
    }
    return this.#member();
  }

  #member(): Part {
    let part = this.#primary();
    for (;;) {
      this.#count();
      const at = this.#token.at;
      if (this.#take(".")) {
        const name = this.#name();
        part = this.#take("(") ? this.#call(part, name, at) : selection(part, name, at);
      } else if (this.#take("[")) {
        const { kind, text } = this.#token;
        if (kind !== "string") throw this.#unexpected("a string");
        this.#next += 1;
        this.#expect("]");
        part = selection(part, text, at);
      } else {
        return part;
      }
    }
  }

  #name(): string {
    const { kind, text } = this.#token;
    if (kind !== "name") throw this.#unexpected("a name");
    this.#next += 1;
    return text;
  }

  #call(on: Part, name: string, at: number): Part {
    if (name === "size") {
      this.#expect(")");
      if (!["string", "list", "map"].includes(on.type.is)) throw unfit(name, on, at);
      return { type: number, value: (object) => sizeOf(on.value(object)) };
    }
    const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
    if (!test) throw filterRefusal(`has the unknown function "${name}" at character ${at}; known are: ${functions}`);
    const argument = this.#or();
    this.#expect(")");
    if (on.type.is !== "string" || argument.type.is !== "string") throw unfit(name, on, at);
    return {
      type: boolean,
      value(object) {
        const [text, part] = [on.value(object), argument.value(object)];
        return typeof text === "string" && typeof part === "string" && test(text, part);
      },
    };
  }

  #primary(): Part {
    const { kind, text, at } = this.#token;
    if (kind === "string") return this.#literal(string, text);
    if (kind === "number") return this.#literal(number, Number(text));
    if (this.#take("(")) {
      const inner = this.#or();
      this.#expect(")");
      return inner;
    }
    if (this.#take("[")) return this.#list(at);
    if (kind !== "name") throw this.#unexpected("a value");
    if (text === "true" || text === "false") return this.#literal(boolean, text === "true");
    if (text === "null") return this.#literal(nothing, null);
    if (text !== "obj") throw filterRefusal(`knows only "obj", there is "${text.slice(0, 32)}" at character ${at}`);
    this.#next += 1;
    return { type: this.#obj, value: (object) => object };
  }

  #literal(type: Type, value: unknown): Part {
    this.#next += 1;
    return { type, value: () => value };
  }

  #list(at: number): Part {
    const parts: Part[] = [];
    if (this.#take("]") === undefined) {
      do parts.push(this.#or());
      while (this.#take(","));
      this.#expect("]");
    }
    const of = parts[0]?.type ?? nothing;
    if (parts.some(({ type }) => type.is !== of.is)) {
      throw filterRefusal(`must have values of one type in the list at character ${at}`);
    }
    return { type: { is: "list", of }, value: (object) => parts.map(({ value }) => value(object)) };
  }
}

const tests: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
};
const functions = [...Object.keys(tests), "size"].join(", ");

function unfit(name: string, on: Part, at: number): Error {
  return filterRefusal(`cannot use "${name}" at character ${at} on ${nameOf(on.type)}`);
}

/** As CEL counts: code points of a string. */
function sizeOf(value: unknown): number | null {
  if (typeof value === "string") return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : null;
}

function selection(from: Part, name: string, at: number): Part {
  const { type } = from;
  const value: Evaluate = (object) => {
    const whole = from.value(object);
    if (typeof whole !== "object" || whole === null || !Object.hasOwn(whole, name)) return null;
    return (whole as Record<string, unknown>)[name];
  };
  if (type.is === "map") return { type: type.of, value };
  if (type.is !== "object") {
    throw filterRefusal(`cannot select "${name.slice(0, 32)}" at character ${at} from ${nameOf(type)}`);
  }
  const inner = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
  if (inner) return { type: inner, value: inner.is === "list" ? (object) => idsOf(value(object)) : value };
  const known = Object.keys(type.fields).join(", ");
  throw filterRefusal(`has the unknown field "${name.slice(0, 64)}" at character ${at}; known are: ${known}`);
}

/** References compare by their ids. */
function idsOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) =>
    typeof item === "object" && item !== null && Object.keys(item).join() === "id,uri"
      ? (item as { readonly id: unknown }).id
      : item,
  );
}

function membership(left: Part, right: Part, at: number): Part {
  const keyType = right.type.is === "map" ? string : right.type.is === "list" ? right.type.of : undefined;
  if (!keyType || (keyType.is !== left.type.is && keyType.is !== "null")) {
    throw filterRefusal(`cannot look for ${nameOf(left.type)} in ${nameOf(right.type)} at character ${at}`);
  }
  return {
    type: boolean,
    value(object) {
      const [one, all] = [left.value(object), right.value(object)];
      if (Array.isArray(all)) return all.includes(one);
      return typeof all === "object" && all !== null && Object.hasOwn(all, String(one));
    },
  };
}

function comparison(sign: string, left: Part, right: Part, at: number): Part {
  const types = [left.type.is, right.type.is];
  const ordered = sign !== "==" && sign !== "!=";
  const comparable = types[0] === types[1] ? isPlain(types[0]) : !ordered && types.includes("null");
  if (!comparable || (ordered && types[0] === "null")) {
    throw filterRefusal(`cannot compare ${nameOf(left.type)} with ${nameOf(right.type)} at character ${at}`);
  }
  const compare = comparisons[sign] as (one: unknown, other: unknown) => boolean;
  return { type: boolean, value: (object) => compare(left.value(object), right.value(object)) };
}

function isPlain(type: Type["is"] | undefined): boolean {
  return type === "boolean" || type === "number" || type === "string" || type === "null";
}

type Ordered = string | number;

const comparisons: Readonly<Record<string, (one: unknown, other: unknown) => boolean>> = {
  "==": (one, other) => one === other,
  "!=": (one, other) => one !== other,
  "<": (one, other) => one !== null && other !== null && (one as Ordered) < (other as Ordered),
  "<=": (one, other) => one !== null && other !== null && (one as Ordered) <= (other as Ordered),
  ">": (one, other) => one !== null && other !== null && (one as Ordered) > (other as Ordered),
  ">=": (one, other) => one !== null && other !== null && (one as Ordered) >= (other as Ordered),
};
