/**
 * Compresses very many similar JSON lines by storing their common text once. Folding a text removes parts that its
 * owner stores anyway. The result is a shared pattern with a number. Unfolding inserts the parts again.
 */

interface Pattern {
  readonly text: string;
  readonly number: number;
  /** Number of texts with this pattern. */
  uses: number;
}

/** Returns a part by its index, from 0. */
export type PartAt = (at: number) => string;

/** Placeholders for the parts in a pattern: JSON contains no unescaped control characters (RFC 8259 §7). */
const marks = ["\u0001", "\u0002", "\u0003", "\u0004", "\u0005", "\u0006", "\u0007", "\u0008"];
/** Characters that JSON text never contains unescaped. */
// oxlint-disable-next-line no-control-regex
const unfoldable = /[\u0000-\u001f"\\]/;
// oxlint-disable-next-line no-control-regex
const anyMark = /[\u0001-\u0008]/g;

/** Whether a part may be removed from texts. Other parts stay in them. */
export function isFoldable(part: string): boolean {
  return part !== "" && !unfoldable.test(part);
}

export class Patterns {
  readonly #byText = new Map<string, Pattern>();
  readonly #byNumber: (Pattern | undefined)[] = [];
  readonly #free: number[] = [];

  /** Returns the pattern's number. The caller must release the pattern. @param parts 8 at most */
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

  /** Returns the original text. @param partAt returns the same parts; called only for those in the pattern */
  unfold(number: number, partAt: PartAt): string {
    return fillPattern(this.#at(number).text, partAt);
  }

  /** Returns one line of the text, from 0. */
  line(number: number, line: number, partAt: PartAt): string {
    const { text } = this.#at(number);
    let from = 0;
    for (let at = 0; at < line; at += 1) from = text.indexOf("\n", from) + 1;
    const end = text.indexOf("\n", from);
    return fillPattern(text.slice(from, end < 0 ? text.length : end), partAt);
  }

  release(number: number): void {
    const pattern = this.#at(number);
    pattern.uses -= 1;
    if (pattern.uses > 0) return;
    this.#byText.delete(pattern.text);
    this.#byNumber[number] = undefined;
    this.#free.push(number);
  }

  /** Number of patterns. */
  get size(): number {
    return this.#byText.size;
  }

  #at(number: number): Pattern {
    const pattern = this.#byNumber[number];
    if (!pattern) throw new Error(`read pattern ${number}: there is none`);
    return pattern;
  }
}

function fillPattern(text: string, partAt: PartAt): string {
  return text.replaceAll(anyMark, (mark) => partAt(mark.charCodeAt(0) - 1));
}
