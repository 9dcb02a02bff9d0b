/**
 * Texts of lines of JSON of which there may be very many, nearly alike: what they have in common is kept once. A text is
 * folded into a pattern, which others share and which has a number, by taking out parts that its keeper has anyway, and
 * unfolded by putting them back.
 */

interface Pattern {
  readonly text: string;
  readonly number: number;
  /** How many texts were folded into it. */
  uses: number;
}

/** A part by its place, from 0. */
export type PartAt = (at: number) => string;

/** Stand for the parts in a pattern: JSON has no control characters as they are (RFC 8259 §7). */
const marks = ["\u0001", "\u0002", "\u0003", "\u0004", "\u0005", "\u0006", "\u0007", "\u0008"];
/** What cannot be in a JSON text as it is. */
// oxlint-disable-next-line no-control-regex
const unfoldable = /[\u0000-\u001f"\\]/;
// oxlint-disable-next-line no-control-regex
const anyMark = /[\u0001-\u0008]/g;

/** Whether a part may be taken out of texts; one that may not stays in them. */
export function isFoldable(part: string): boolean {
  return part !== "" && !unfoldable.test(part);
}

export class Patterns {
  readonly #byText = new Map<string, Pattern>();
  readonly #byNumber: (Pattern | undefined)[] = [];
  readonly #free: number[] = [];

  /** The pattern's number. @param parts 8 at most; whoever has the pattern releases it */
  fold(json: string, parts: readonly string[]): number {
    let text = json;
    for (const [at, part] of parts.entries()) {
      if (isFoldable(part)) text = text.replaceAll(part, marks[at] as string);
    }
    let pattern = this.#byText.get(text);
    if (!pattern) {
      pattern = { text, number: this.#free.pop() ?? this.#byNumber.length, uses: 0 };
      this.#byText.set(text, pattern);
      this.#byNumber[pattern.number] = pattern;
    }
    pattern.uses += 1;
    return pattern.number;
  }

  /** The text that was folded. @param partAt is asked for the same parts, those that are in it */
  unfold(number: number, partAt: PartAt): string {
    return put(this.#at(number).text, partAt);
  }

  /** One line of it, from 0. */
  line(number: number, line: number, partAt: PartAt): string {
    const { text } = this.#at(number);
    let from = 0;
    for (let at = 0; at < line; at += 1) from = text.indexOf("\n", from) + 1;
    const end = text.indexOf("\n", from);
    return put(text.slice(from, end < 0 ? text.length : end), partAt);
  }

  release(number: number): void {
    const pattern = this.#at(number);
    pattern.uses -= 1;
    if (pattern.uses > 0) return;
    this.#byText.delete(pattern.text);
    this.#byNumber[number] = undefined;
    this.#free.push(number);
  }

  /** How many there are. */
  get size(): number {
    return this.#byText.size;
  }

  #at(number: number): Pattern {
    const pattern = this.#byNumber[number];
    if (!pattern) throw new Error(`read pattern ${number}: there is none`);
    return pattern;
  }
}

function put(text: string, partAt: PartAt): string {
  return text.replaceAll(anyMark, (mark) => partAt(mark.charCodeAt(0) - 1));
}
