/** Regular expressions: RE2's syntax, unanchored, time linear in the text (re2js), and bounded in size. */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { Failure } from "./failure.ts";
import { maxSearched, plainPattern } from "./plain-pattern.ts";
import type { Run } from "./run.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first expression: every start would wait for it. */
const library = (): typeof Re2 => require("re2js") as typeof Re2;

/** UTF-16 code units of a pattern. */
const maxPattern = 1024;
/** Steps for each 64 units of text, at the least: a character takes 36 ns where a step is to take half a microsecond. */
const leastCost = 6;
/** Instructions once repetitions are written out; time per character grows with them. */
const maxProgram = 2000;
/** Patterns that were not literals, kept for the next evaluation. */
const maxKept = 100;

export interface Pattern {
  readonly expression: Re2.RE2JS;
  /** The same for short texts, where it only names texts. */
  readonly plain: RegExp | undefined;
  /** Steps for each 64 units of text. */
  readonly cost: number;
}

const kept = new Map<string, Pattern | string>();

/** Or what is wrong with it. */
export function compilePattern(text: string): Pattern | string {
  if (text.length > maxPattern) return `the regular expression has more than ${maxPattern} characters`;
  try {
    const expression = library().RE2JS.compile(text);
    const size = expression.programSize();
    if (size > maxProgram) return "the regular expression is too large once its repetitions are written out";
    return { expression, plain: plainPattern(text), cost: Math.max(leastCost, Math.ceil(size / 16)) };
  } catch (error) {
    return `the regular expression cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The same for one that is known only now: the last hundred are kept. */
export function patternOf(text: string, run: Run): Pattern | Failure {
  const known = kept.get(text);
  const pattern = known ?? compilePattern(text);
  // What was used last stands last.
  kept.delete(text);
  kept.set(text, pattern);
  if (kept.size > maxKept) kept.delete(kept.keys().next().value as string);
  // As much work as some text: reading it, and writing its repetitions out.
  const spent = known === undefined ? run.spend(64) : undefined;
  return spent ?? (typeof pattern === "string" ? new Failure(pattern) : pattern);
}

/** Whether it is found anywhere in the text. */
export function matches({ expression, plain, cost }: Pattern, text: string, run: Run): boolean | Failure {
  const spent = run.spend(cost * ((text.length + 63) >> 6));
  if (spent) return spent;
  return plain !== undefined && text.length <= maxSearched ? plain.test(text) : expression.test(text);
}
