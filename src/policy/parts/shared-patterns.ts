/** Caches compiled regular expressions in the thread for long texts. */
import { compilePattern } from "../../cel/values/regex.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import { Lru } from "../../lib/collections/lru.ts";

const kept = new Lru<string, Pattern | string>(200);

/** Returns the pattern, or its error. Free here: the thread that sends the text has paid for it. */
export function patternFor(text: string): Pattern | string {
  let pattern = kept.get(text);
  if (pattern === undefined) kept.set(text, (pattern = compilePattern(text)));
  return pattern;
}
