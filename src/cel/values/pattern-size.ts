/**
 * Estimates the size of a regular expression from its text, because compiling it to find out may take a quarter of a
 * second.
 */

export interface PatternSize {
  /** Number of instructions after expanding repetitions. Never lower than the real number. */
  readonly instructions: number;
  /** Unicode classes such as `\p{L}`, whose tables are copied, merged and folded once each. */
  readonly classes: number;
}

/** Scans the text once. The result for an invalid regular expression does not matter. */
export function patternSize(text: string): PatternSize {
  /** Size of the parts so far, for each open group. */
  const outer: number[] = [];
  let whole = 0;
  let last = 0;
  let classes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    const size = sign === "[" ? classAt(text, at) : sign === "\\" ? escapeAt(text, at) : undefined;
    if (size) {
      [whole, last] = [whole + last, size.length];
      classes += size.classes;
      at = size.end;
    } else if (sign === "(") {
      outer.push(whole + last);
      [whole, last] = [0, 0];
    } else if (sign === ")" && outer.length > 0) {
      [whole, last] = [outer.pop() as number, whole + last + 2];
    } else if (sign === "*" || sign === "+" || sign === "?") last += 1;
    else if (sign === "{" && repetition.test(text.slice(at, at + 12))) {
      const [all, least, most] = repetition.exec(text.slice(at, at + 12)) as unknown as [string, string, string?];
      last = (last + 1) * Math.max(Number(least), Number(most ?? 0), 1) + 1;
      at += all.length - 1;
    } else [whole, last] = [whole + last, 1];
  }
  return { instructions: outer.reduce((sum, size) => sum + size, whole + last), classes };
}

const repetition = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/;

interface Atom {
  /** In instructions. */
  readonly length: number;
  readonly classes: number;
  /** Position of its last character. */
  readonly end: number;
}

/** Scans `[…]` as one instruction. */
function classAt(text: string, start: number): Atom {
  let classes = 0;
  let at = start + 1;
  if (text[at] === "^") at += 1;
  // A bracket at the start is literal.
  if (text[at] === "]") at += 1;
  for (; at < text.length && text[at] !== "]"; at += 1) {
    if (text[at] === "[" && text[at + 1] === ":") at = Math.max(at, text.indexOf(":]", at) + 1);
    else if (text[at] === "\\") {
      const inside = escapeAt(text, at);
      classes += inside.classes;
      at = inside.end;
    }
  }
  return { length: 1, classes, end: at };
}

/** `\d`, `\p{Greek}`, `\x{1f600}`, `\Q…\E`. */
function escapeAt(text: string, start: number): Atom {
  const sign = text[start + 1];
  if (sign === "Q") {
    const end = text.indexOf("\\E", start + 2);
    const last = end < 0 ? text.length - 1 : end + 1;
    return { length: last - start, classes: 0, end: last };
  }
  if (sign !== "p" && sign !== "P" && sign !== "x") return { length: 1, classes: 0, end: start + 1 };
  const classes = sign === "x" ? 0 : 1;
  if (text[start + 2] !== "{") return { length: 1, classes, end: start + 2 };
  const end = text.indexOf("}", start);
  return { length: 1, classes, end: end < 0 ? text.length - 1 : end };
}
