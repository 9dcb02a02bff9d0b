/** Reads TOML 1.0 without dates, with the position of every value. */
import { ImportIssue } from "../report/report.ts";
import type { SettingPlace } from "../report/report.ts";
import { Bounds } from "./source-tree.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

/** A map that later lines can extend. */
interface Table {
  readonly place: SettingPlace;
  readonly entries: { readonly key: string; readonly place: SettingPlace; node: OpenNode }[];
  /** Whether the table is complete, like inline tables and values. */
  readonly isClosed: boolean;
}
type OpenNode =
  | { readonly kind: "value"; readonly node: SourceNode }
  | { readonly kind: "table"; readonly table: Table }
  | { readonly kind: "tables"; readonly tables: Table[]; readonly place: SettingPlace };

/** @throws ImportIssue with line and column */
export function readToml(file: string, text: string): SourceNode {
  return new TomlReader(file, text).read();
}

const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\u001b",
  '"': '"',
  "\\": "\\",
};

class TomlReader {
  readonly #file: string;
  readonly #text: string;
  readonly #bounds = new Bounds();
  #at = 0;
  #line = 1;
  #lineStart = 0;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
  }

  read(): SourceNode {
    const root: Table = { place: this.#place(), entries: [], isClosed: false };
    let current = root;
    for (;;) {
      this.#skip(/[ \t\r\n]|#[^\n]*/y);
      if (this.#at >= this.#text.length) return this.#finish(root);
      if (this.#text[this.#at] === "[") current = this.#header(root);
      else this.#assign(current);
      this.#skip(/[ \t]|#[^\n]*/y);
      if (!this.#isLineEnd()) this.#fail("unexpected text at the end of the line");
    }
  }

  #isLineEnd(): boolean {
    const rest = this.#match(/[ \t]*(?:#[^\n]*)?\r?(?:\n|$)/y, false);
    return rest !== undefined;
  }

  #header(root: Table): Table {
    const isList = this.#text.startsWith("[[", this.#at);
    this.#move(isList ? 2 : 1);
    const place = this.#place();
    const path = this.#keyPath();
    if (!this.#text.startsWith(isList ? "]]" : "]", this.#at)) this.#fail(`expected "${isList ? "]]" : "]"}"`);
    this.#move(isList ? 2 : 1);
    const holder = this.#tableAt(root, path.slice(0, -1), place);
    const last = path.at(-1) as string;
    const known = holder.entries.find(({ key }) => key === last);
    const table: Table = { place, entries: [], isClosed: false };
    if (isList) {
      if (known && known.node.kind !== "tables") this.#fail(`"${last}" is already set`);
      if (known?.node.kind === "tables") known.node.tables.push(table);
      else holder.entries.push({ key: last, place, node: { kind: "tables", tables: [table], place } });
      return table;
    }
    if (!known) holder.entries.push({ key: last, place, node: { kind: "table", table } });
    else if (known.node.kind !== "table" || known.node.table.isClosed) this.#fail(`"${last}" is already set`);
    else return known.node.table;
    return table;
  }

  #assign(table: Table): void {
    const place = this.#place();
    const path = this.#keyPath();
    if (this.#text[this.#at] !== "=") this.#fail('expected "=" after the key');
    this.#move(1);
    this.#skip(/[ \t]/y);
    const node = this.#value(path.length + 1);
    const holder = this.#tableAt(table, path.slice(0, -1), place);
    const key = path.at(-1) as string;
    if (holder.entries.some((entry) => entry.key === key)) throw new ImportIssue(place, `"${key}" is set twice`);
    holder.entries.push({ key, place, node: { kind: "value", node } });
  }

  #tableAt(from: Table, path: readonly string[], place: SettingPlace): Table {
    let table = from;
    for (const [depth, key] of path.entries()) {
      this.#bounds.count(place, depth);
      const known = table.entries.find((entry) => entry.key === key)?.node;
      if (known?.kind === "value") throw new ImportIssue(place, `"${key}" is already set`);
      if (known?.kind === "tables") table = known.tables.at(-1) as Table;
      else if (known?.kind === "table") table = known.table;
      else {
        const made: Table = { place, entries: [], isClosed: false };
        table.entries.push({ key, place, node: { kind: "table", table: made } });
        table = made;
      }
    }
    return table;
  }

  #keyPath(): string[] {
    const path: string[] = [];
    for (;;) {
      this.#skip(/[ \t]/y);
      const bare = this.#match(/[A-Za-z0-9_-]+/y);
      const quote = this.#text[this.#at];
      if (bare !== undefined) path.push(bare);
      else if (quote === '"' || quote === "'") path.push(this.#string());
      else this.#fail("expected a key");
      this.#skip(/[ \t]/y);
      if (this.#text[this.#at] !== ".") return path;
      this.#move(1);
    }
  }

  #value(depth: number): SourceNode {
    const place = this.#place();
    this.#bounds.count(place, depth);
    const start = this.#text[this.#at];
    if (start === '"' || start === "'") return { place, value: { kind: "text", text: this.#string() } };
    if (start === "[") return this.#array(place, depth);
    if (start === "{") return this.#inline(place, depth);
    const word = this.#match(/[+-]?[A-Za-z0-9_.:+-]+/y) ?? "";
    if (/^\d{4}-\d{2}-\d{2}|^\d{2}:\d{2}/.test(word))
      throw new ImportIssue(place, "dates are not supported: write a text in quotes");
    if (/^(?:true|false)$/.test(word)) return { place, value: { kind: "text", text: word } };
    if (/^[+-]?(?:0x[\da-f_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*(?:\.[\d_]+)?(?:e[+-]?\d+)?|inf|nan)$/i.test(word)) {
      return { place, value: { kind: "text", text: word.replaceAll("_", "") } };
    }
    throw new ImportIssue(place, "expected a value: a text in quotes, a number, true, false, a list or a table");
  }

  #array(place: SettingPlace, depth: number): SourceNode {
    const items: SourceNode[] = [];
    this.#move(1);
    for (;;) {
      this.#skip(/[ \t\r\n]|#[^\n]*/y);
      if (this.#text[this.#at] === "]") break;
      items.push(this.#value(depth + 1));
      this.#skip(/[ \t\r\n]|#[^\n]*/y);
      if (this.#text[this.#at] === ",") this.#move(1);
      else if (this.#text[this.#at] !== "]") this.#fail('expected "," or "]" in a list');
    }
    this.#move(1);
    return { place, value: { kind: "list", items } };
  }

  #inline(place: SettingPlace, depth: number): SourceNode {
    const table: Table = { place, entries: [], isClosed: true };
    this.#move(1);
    this.#skip(/[ \t]/y);
    while (this.#text[this.#at] !== "}") {
      this.#assign(table);
      this.#skip(/[ \t]/y);
      if (this.#text[this.#at] === ",") this.#move(1);
      else if (this.#text[this.#at] !== "}") this.#fail('expected "," or "}" in a table');
      this.#skip(/[ \t]/y);
    }
    this.#move(1);
    this.#bounds.count(place, depth);
    return this.#finish(table);
  }

  #string(): string {
    const quote = this.#text[this.#at] as string;
    const isLong = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = isLong ? quote.repeat(3) : quote;
    this.#move(end.length);
    if (isLong) this.#match(/\r?\n/y);
    let text = "";
    while (!this.#text.startsWith(end, this.#at)) {
      const sign = this.#text[this.#at];
      if (sign === undefined || (sign === "\n" && !isLong)) this.#fail("the text has no closing quote");
      if (sign === "\\" && quote === '"') text += this.#escape(isLong);
      else
        text +=
          this.#match(quote === '"' ? /[^"\\\n]+|[\n"]/y : /[^'\n]+|[\n']/y) ?? this.#fail("this is not valid text");
    }
    this.#move(end.length);
    return text;
  }

  #escape(isLong: boolean): string {
    const code = this.#match(/\\u[\da-fA-F]{4}|\\U[\da-fA-F]{8}/y);
    if (code !== undefined) {
      const point = Number.parseInt(code.slice(2), 16);
      return point > 0x10_ff_ff ? this.#fail("this is not a character") : String.fromCodePoint(point);
    }
    if (isLong && this.#match(/\\[ \t]*\r?\n[ \t\r\n]*/y) !== undefined) return "";
    const sign = this.#text[this.#at + 1] ?? "";
    const escaped = Object.hasOwn(escapes, sign) ? escapes[sign] : undefined;
    if (escaped === undefined) this.#fail("unknown escape in a text");
    this.#move(2);
    return escaped as string;
  }

  #finish(table: Table): SourceNode {
    const entries = table.entries.map(({ key, place, node }): SourceEntry => {
      if (node.kind === "value") return { key, place, node: node.node };
      if (node.kind === "table") return { key, place, node: this.#finish(node.table) };
      return {
        key,
        place,
        node: { place, value: { kind: "list", items: node.tables.map((one) => this.#finish(one)) } },
      };
    });
    return { place: table.place, value: { kind: "map", entries } };
  }

  #match(pattern: RegExp, moves = true): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined && moves) this.#move(found.length);
    return found;
  }

  #skip(pattern: RegExp): void {
    while (this.#at < this.#text.length && this.#match(pattern)) {
      // Each match advances the position.
    }
  }

  #move(length: number): void {
    for (let at = this.#at; at < this.#at + length; at += 1) {
      if (this.#text[at] !== "\n") continue;
      this.#line += 1;
      this.#lineStart = at + 1;
    }
    this.#at += length;
  }

  #place(): SettingPlace {
    return { file: this.#file, line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #fail(message: string): never {
    throw new ImportIssue(this.#place(), `this is not valid TOML: ${message}`);
  }
}
