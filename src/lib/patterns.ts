/**
 * JSON texts of which there may be very many, nearly alike: what they have in common is kept once. A text is folded into
 * a pattern, which others share, by taking out parts that its keeper has anyway, and unfolded by putting them back.
 */

/** Held by as many as have folded a text into it. */
export interface Pattern {
  readonly text: string;
  uses: number;
}

/** Stand for the parts in a pattern: JSON has no control characters as they are (RFC 8259 §7). */
const marks = ["\u0001", "\u0002", "\u0003", "\u0004", "\u0005", "\u0006", "\u0007", "\u0008"];
/** What cannot be in a JSON text as it is. */
// oxlint-disable-next-line no-control-regex
const unfoldable = /[\u0000-\u001f"\\]/;
// oxlint-disable-next-line no-control-regex
const anyMark = /[\u0001-\u0008]/g;

export class Patterns {
  readonly #patterns = new Map<string, Pattern>();

  /** @param parts 8 at most, in the order in which `unfold` is given them; whoever has the pattern releases it */
  fold(json: string, parts: readonly string[]): Pattern {
    let text = json;
    for (const [at, part] of parts.entries()) {
      if (part !== "" && !unfoldable.test(part)) text = text.replaceAll(part, marks[at] as string);
    }
    let pattern = this.#patterns.get(text);
    if (!pattern) this.#patterns.set(text, (pattern = { text, uses: 0 }));
    pattern.uses += 1;
    return pattern;
  }

  release(pattern: Pattern): void {
    pattern.uses -= 1;
    if (pattern.uses === 0) this.#patterns.delete(pattern.text);
  }

  /** How many there are. */
  get size(): number {
    return this.#patterns.size;
  }
}

/** The text that was folded with the same parts. */
export function unfold({ text }: Pattern, parts: readonly string[]): string {
  return text.replaceAll(anyMark, (mark) => parts[mark.charCodeAt(0) - 1] ?? "");
}
