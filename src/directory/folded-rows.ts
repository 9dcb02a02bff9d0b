/**
 * Stores many similar JSON texts, each under a number. A row stores the parts that differ, and the number of a shared
 * pattern (see `Patterns`). Rows are in arrays and buffers, so the garbage collector does not scan them.
 */
import { Digests } from "../lib/collections/digests.ts";
import { PackedTexts } from "../lib/collections/packed-texts.ts";
import { isFoldable, Patterns } from "../lib/patterns.ts";
import type { PartAt } from "../lib/patterns.ts";

/** Separates the parts of a row. No part contains it. */
const cut = "\n";
const growth = 1.2;

/** Returns a part that is removed from a row's text, counted from 0, derived from the row's own parts and its owner. */
export type PartOf = (at: number, own: readonly string[], owner: number) => string;

export class FoldedRows {
  readonly #texts = new PackedTexts();
  readonly #patterns = new Patterns();
  /** Rows by the first part of each row. */
  readonly #keys = new Digests();
  #patternOf = new Uint32Array(64);
  #ownerOf = new Uint32Array(64);
  #end = 0;
  readonly #free: number[] = [];
  readonly #count: number;
  readonly #partOf: PartOf;

  /** @param count number of parts removed from each text: 8 at most */
  constructor(count: number, partOf: PartOf) {
    this.#count = count;
    this.#partOf = partOf;
  }

  /**
   * Stores a text of lines of JSON and returns its number.
   * @param own the parts that differ between rows: the first is the key, which must be foldable (see `isFoldable`)
   * @param owner any number
   */
  put(own: readonly string[], owner: number, text: string): number {
    const number = this.#free.pop() ?? this.#end;
    if (number === this.#end) this.#lengthen();
    const kept = own.map((part) => (isFoldable(part) ? part : ""));
    this.#texts.put(number, kept.join(cut) + cut);
    this.#ownerOf[number] = owner;
    this.#patternOf[number] = this.#fold(text, kept, owner);
    this.#keys.add(kept[0] as string, number);
    return number;
  }

  /** Replaces a text. The row's own parts and owner stay the same. */
  change(number: number, text: string): void {
    const before = this.#patternOf[number] as number;
    this.#patternOf[number] = this.#fold(text, this.own(number), this.owner(number));
    this.#patterns.release(before);
  }

  drop(number: number): void {
    this.#keys.remove(this.own(number)[0] as string, number);
    this.#patterns.release(this.#patternOf[number] as number);
    this.#texts.drop(number);
    this.#patternOf[number] = 0;
    this.#free.push(number);
  }

  /** Returns the numbers of the rows with a key. */
  find(key: string): number[] {
    return this.#keys.candidates(key).filter((number) => this.#texts.begins(number, key + cut));
  }

  own(number: number): string[] {
    return this.#texts.read(number).slice(0, -cut.length).split(cut);
  }

  owner(number: number): number {
    return this.#ownerOf[number] as number;
  }

  /** Returns the stored text. */
  text(number: number): string {
    return this.#patterns.unfold(this.#patternOf[number] as number, this.#partAt(number));
  }

  /** Returns one line of the text, counted from 0. */
  line(number: number, line: number): string {
    return this.#patterns.line(this.#patternOf[number] as number, line, this.#partAt(number));
  }

  /** Iterates over all numbers. */
  *numbers(): Iterable<number> {
    const free = new Set(this.#free);
    for (let number = 0; number < this.#end; number += 1) if (!free.has(number)) yield number;
  }

  get size(): number {
    return this.#end - this.#free.length;
  }

  #fold(text: string, own: readonly string[], owner: number): number {
    const parts: string[] = [];
    for (let at = 0; at < this.#count; at += 1) parts.push(this.#partOf(at, own, owner));
    return this.#patterns.fold(text, parts);
  }

  #partAt(number: number): PartAt {
    const own = this.own(number);
    const owner = this.owner(number);
    return (at) => this.#partOf(at, own, owner);
  }

  #lengthen(): void {
    this.#end += 1;
    if (this.#end <= this.#ownerOf.length) return;
    const size = Math.ceil(this.#end * growth);
    const [patternOf, ownerOf] = [new Uint32Array(size), new Uint32Array(size)];
    patternOf.set(this.#patternOf);
    ownerOf.set(this.#ownerOf);
    this.#patternOf = patternOf;
    this.#ownerOf = ownerOf;
  }
}
