/** Regular expressions in RE2 syntax, unanchored, in linear time (re2js), with bounded size. */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { Lru } from "../../lib/collections/lru.ts";
import { CelFailure } from "./cel-failure.ts";
import { patternSize } from "./pattern-size.ts";
import { maxSearched, toPlainPattern } from "./plain-pattern.ts";
import type { Meter } from "./budget.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first expression, so that it does not delay each start. */
const loadRe2 = (): typeof Re2 => require("re2js") as typeof Re2;

/** Maximum length of a pattern, UTF-16 code units. */
const maxPattern = 1024;
/** Minimum steps for 64 units of text: a character takes 36 ns, and a step is half a microsecond. */
const leastCost = 6;
/** Maximum number of instructions after expanding repetitions. The time per character grows with them. */
const maxProgram = 2000;
/** Maximum of the estimate, which is often several times too high. */
const maxEstimate = 8 * maxProgram;
/** Steps to compile an instruction (1.2 µs) and a Unicode class (up to 0.12 ms). */
const instructionCost = 3;
const classCost = 240;
/** Maximum number of cached patterns that were not literals. */
const maxKept = 200;

export interface Pattern {
  readonly expression: Re2.RE2JS;
  /** An equivalent for short texts, if the pattern is plain. */
  readonly plain: RegExp | undefined;
  /** Steps for each 64 units of text. */
  readonly cost: number;
}

const kept = new Lru<string, Pattern | string>(maxKept);
const tooLarge = "the regular expression is too large once its repetitions are written out";

/** Steps to compile it; 0 if it is refused because of its size. */
export function patternSteps(text: string): number {
  if (text.length > maxPattern) return 0;
  const { instructions, classes } = patternSize(text);
  return instructions > maxEstimate ? 0 : 10 + instructionCost * instructions + classCost * classes;
}

/**
 * Returns the pattern, or what is wrong with it. The size is checked before compilation, whose cost `patternSteps`
 * returns.
 */
export function compilePattern(text: string): Pattern | string {
  if (text.length > maxPattern) return `the regular expression has more than ${maxPattern} characters`;
  if (patternSize(text).instructions > maxEstimate) return tooLarge;
  try {
    const expression = loadRe2().RE2JS.compile(text);
    const size = expression.programSize();
    if (size > maxProgram) return tooLarge;
    return { expression, plain: toPlainPattern(text), cost: Math.max(leastCost, Math.ceil(size / 16)) };
  } catch (error) {
    return `the regular expression cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Compiles a pattern that is known only at run time. Recent ones are cached and free. */
export function patternOf(text: string, meter: Meter): Pattern | CelFailure {
  // Longer patterns are not cached: hashing and storing them would cost more than refusing them.
  let pattern = text.length > maxPattern ? compilePattern(text) : kept.get(text);
  if (pattern === undefined) {
    const spent = meter.spend(patternSteps(text));
    if (spent) return spent;
    kept.set(text, (pattern = compilePattern(text)));
  }
  return typeof pattern === "string" ? new CelFailure(pattern) : pattern;
}

/** Whether the text contains a match. */
export function findsMatch({ expression, plain, cost }: Pattern, text: string, meter: Meter): boolean | CelFailure {
  const spent = meter.spend(cost * ((text.length + 63) >> 6));
  if (spent) return spent;
  return plain !== undefined && text.length <= maxSearched ? plain.test(text) : expression.test(text);
}
