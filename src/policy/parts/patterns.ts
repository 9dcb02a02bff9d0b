/** Regular expressions whose text is known only with the request: the last ones are kept compiled. */
import { compilePattern } from "../../cel/values/regex.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import { Lru } from "../../lib/lru.ts";

const kept = new Lru<string, Pattern | string>(200);

/** Or what is wrong with it. Bounded in length and in size once repetitions are written out. */
export function patternFor(text: string): Pattern | string {
  let pattern = kept.get(text);
  if (pattern === undefined) kept.set(text, (pattern = compilePattern(text)));
  return pattern;
}
