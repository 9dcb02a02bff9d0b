/** Regular expressions: RE2's syntax, unanchored, time linear in the text (re2js), and bounded in size. */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { Lru } from "../../lib/collections/lru.ts";
import { Failure } from "./failure.ts";
import { patternSize } from "./pattern-size.ts";
import { maxSearched, plainPattern } from "./plain-pattern.ts";
import type { Meter } from "./run.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first expression: every start would wait for it. */
const library = (): typeof Re2 => require("re2js") as typeof Re2;

/** UTF-16 code units of a pattern. */
const maxPattern = 1024;
/** Steps for each 64 units of text, at the least: a character takes 36 ns where a step is to take half a microsecond. */
const leastCost = 6;
/** Instructions once repetitions are written out; time per character grows with them. */
const maxProgram = 2000;
/** The same as it is estimated from the text, which often gives several times more than are made. */
const maxEstimate = 8 * maxProgram;
/** Steps to compile an instruction, which takes 1.2 µs, and a Unicode class, which takes up to 0.12 ms. */
const instructionCost = 3;
const classCost = 240;
/** Patterns that were not literals, kept for the next evaluation. */
const maxKept = 200;

export interface Pattern {
  readonly expression: Re2.RE2JS;
  /** The same for short texts, where it only names texts. */
  readonly plain: RegExp | undefined;
  /** Steps for each 64 units of text. */
  readonly cost: number;
}

const kept = new Lru<string, Pattern | string>(maxKept);
const tooLarge = "the regular expression is too large once its repetitions are written out";

/** Steps to compile it; 0 where it is refused for its size. */
export function patternSteps(text: string): number {
  if (text.length > maxPattern) return 0;
  const { instructions, classes } = patternSize(text);
  return instructions > maxEstimate ? 0 : 10 + instructionCost * instructions + classCost * classes;
}

/** Or what is wrong with it. Its size is known before anything is compiled; `patternSteps` says what it costs. */
export function compilePattern(text: string): Pattern | string {
  if (text.length > maxPattern) return `the regular expression has more than ${maxPattern} characters`;
  if (patternSize(text).instructions > maxEstimate) return tooLarge;
  try {
    const expression = library().RE2JS.compile(text);
    const size = expression.programSize();
    if (size > maxProgram) return tooLarge;
    return { expression, plain: plainPattern(text), cost: Math.max(leastCost, Math.ceil(size / 16)) };
  } catch (error) {
    return `the regular expression cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The same for a pattern that is known only at run time. The last ones are kept compiled, and cost nothing again. */
export function patternOf(text: string, meter: Meter): Pattern | Failure {
  // Longer ones are no keys: hashing and keeping them would cost more than refusing them.
  let pattern = text.length > maxPattern ? compilePattern(text) : kept.get(text);
  if (pattern === undefined) {
    const spent = meter.spend(patternSteps(text));
    if (spent) return spent;
    kept.set(text, (pattern = compilePattern(text)));
  }
  return typeof pattern === "string" ? new Failure(pattern) : pattern;
}

/** Whether it is found anywhere in the text. */
export function matches({ expression, plain, cost }: Pattern, text: string, meter: Meter): boolean | Failure {
  const spent = meter.spend(cost * ((text.length + 63) >> 6));
  if (spent) return spent;
  return plain !== undefined && text.length <= maxSearched ? plain.test(text) : expression.test(text);
}
