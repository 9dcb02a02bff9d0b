/** Parsed forms of a request's text, cached until a rule changes the text. */
interface ParsedText {
  readonly text: string;
  readonly value: unknown;
}

/** A cached parser for one kind of text, such as a query. */
export class Parsed<T> {
  readonly #kept = new WeakMap<object, ParsedText>();
  readonly #parse: (text: string) => T;

  constructor(parse: (text: string) => T) {
    this.#parse = parse;
  }

  of(holder: object, text: string): T {
    const known = this.#kept.get(holder);
    if (known !== undefined && known.text === text) return known.value as T;
    const value = this.#parse(text);
    this.#kept.set(holder, { text, value });
    return value;
  }
}

export type Lists = ReadonlyMap<string, readonly string[]>;

/** Values by name, in order. */
export function listsOf(pairs: Iterable<readonly [name: string, value: string]>): Lists {
  const lists = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const list = lists.get(name);
    if (list) list.push(value);
    else lists.set(name, [value]);
  }
  return lists;
}

/** Lists of a query's values, decoded as form fields. */
export const queryLists = new Parsed<Lists>((query) => listsOf(new URLSearchParams(query)));
