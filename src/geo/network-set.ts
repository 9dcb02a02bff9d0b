/** Sets of networks, packed so that threads share them: sorted, disjoint ranges of addresses. */
import { parseCidr } from "../lib/address.ts";
import type { Network } from "../lib/address.ts";
import type { Steps } from "../lib/slices.ts";

/** Networks of one list. */
const mostNetworks = 500_000;
/** Lines that are read between two steps. */
const linesPerStep = 1_000;

/** A list that cannot be used. The message names its line. */
export class InvalidList extends Error {}

/**
 * Reads a list with an address or a network per line. Text after `#` or `;` is a comment. Throws `InvalidList`: a list
 * with an unreadable line is probably no list, such as an error page.
 *
 * @returns the packed form, for `NetworkSet`
 */
export function* packNetworks(text: string): Steps<SharedArrayBuffer> {
  const networks: Network[] = [];
  let line = 0;
  for (const [content] of text.matchAll(/^.*$/gm)) {
    line += 1;
    if (line % linesPerStep === 0) yield;
    const entry = content.replace(/[#;].*/s, "").trim();
    if (entry === "") continue;
    const network = parseCidr(entry);
    if (!network) {
      throw new InvalidList(
        `line ${line} is "${entry.slice(0, 60)}", not an address or a network such as 192.0.2.0/24`,
      );
    }
    if (networks.push(network) > mostNetworks) throw new InvalidList(`it has more than ${mostNetworks} networks`);
  }
  if (networks.length === 0) throw new InvalidList("it has no networks");
  const four = keepWidest(networks.filter(({ family }) => family === 4));
  yield;
  const six = keepWidest(networks.filter(({ family }) => family === 6));
  const shared = new SharedArrayBuffer(4 * (1 + 2 * four.length + 8 * six.length));
  const words = new Uint32Array(shared);
  words[0] = four.length;
  let at = 1;
  for (const { first, last } of [...four, ...six]) {
    words.set(first, at);
    words.set(last, at + first.length);
    at += first.length + last.length;
  }
  return shared;
}

/** Networks are nested or disjoint. Returns those that lie in no other one, sorted. */
function keepWidest(networks: Network[]): Network[] {
  const kept: Network[] = [];
  for (const network of networks.sort(
    (one, other) => compareWords(one.first, other.first) || one.prefix - other.prefix,
  )) {
    const above = kept.at(-1);
    if (!above || compareWords(network.first, above.last) > 0) kept.push(network);
  }
  return kept;
}

function compareWords(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < one.length; at += 1) {
    if (one[at] !== other[at]) return (one[at] as number) - (other[at] as number);
  }
  return 0;
}

/** A packed list. */
export class NetworkSet {
  readonly #words: Uint32Array;
  readonly #fours: number;
  readonly #sixes: number;
  readonly #sixStart: number;

  constructor(packed: SharedArrayBuffer) {
    this.#words = new Uint32Array(packed);
    this.#fours = this.#words[0] as number;
    this.#sixStart = 1 + 2 * this.#fours;
    this.#sixes = (this.#words.length - this.#sixStart) / 8;
  }

  get size(): number {
    return this.#fours + this.#sixes;
  }

  /** @param words in the form of `readAddress` */
  has(family: 4 | 6, words: Uint32Array): boolean {
    const length = family === 4 ? 1 : 4;
    const start = family === 4 ? 1 : this.#sixStart;
    let low = 0;
    let high = family === 4 ? this.#fours : this.#sixes;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order(start + middle * 2 * length, words, length) <= 0) low = middle + 1;
      else high = middle;
    }
    return low > 0 && this.#order(start + (low - 1) * 2 * length + length, words, length) >= 0;
  }

  /** Compares the address at a position with another one. */
  #order(at: number, words: Uint32Array, length: number): number {
    for (let word = 0; word < length; word += 1) {
      const [one, other] = [this.#words[at + word] as number, words[word] as number];
      if (one !== other) return one - other;
    }
    return 0;
  }
}
