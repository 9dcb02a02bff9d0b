import type { FieldBlock } from "../lib/field-block.ts";
import { isHttpToken } from "../lib/http-token.ts";
import type { HeaderFields } from "./header-fields.ts";

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Header fields in memory, with the same validation as fields on the wire, so that they cannot break a message. */
export class HeaderList implements HeaderFields {
  #pairs: (readonly [name: string, value: string])[] = [];

  /** Throws like `append`. */
  constructor(pairs: HeaderPairs = []) {
    for (const [name, value] of pairs) this.append(name, value);
  }

  get(name: string): string | undefined {
    const wanted = name.toLowerCase();
    return this.#pairs.find(([present]) => present === wanted)?.[1];
  }

  getAll(name: string): readonly string[] {
    const wanted = name.toLowerCase();
    return this.#pairs.filter(([present]) => present === wanted).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  /** Throws if `name` is not a token or `value` has control characters. */
  append(name: string, value: string): void {
    if (!isHttpToken(name)) throw new Error(`append header: "${name}" is not a header name`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new Error(`append header "${name}": its value has control characters`);
    this.#pairs.push([name.toLowerCase(), value]);
  }

  appendBlock({ fields }: FieldBlock): void {
    for (let at = 0; at < fields.length; at += 2) this.#pairs.push([fields[at] as string, fields[at + 1] as string]);
  }

  delete(name: string): void {
    const unwanted = name.toLowerCase();
    this.#pairs = this.#pairs.filter(([present]) => present !== unwanted);
  }

  entries(): HeaderPairs {
    return this.#pairs;
  }
}
