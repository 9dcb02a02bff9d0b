/** Finds and replaces in a whole text, one match at a time (traffic policy, find-replace actions). */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import { expandReplacement, noVariables } from "./replacement.ts";
import type { Replacement } from "./replacement.ts";

export interface TextReplacement {
  readonly pattern: Pattern;
  readonly to: Replacement;
}

/** A match as rules read it: the first 1024 characters, for the first hundred matches of a text. */
export interface FoundMatch {
  readonly replacement_index: number;
  readonly matched_content: string;
}

export interface Replaced<T> {
  readonly content: T;
  readonly matches: readonly FoundMatch[];
}

/** Reason why a text could not be changed, one clause. */
export class ReplaceFault extends CelFailure {}

/** Maximum reported matches of a text. More matches are replaced, but not reported. */
const maxMatches = 100;
const maxMatchLength = 1024;
/** A search cannot be interrupted. Its cost grows with the text, and with large expressions. */
const leastSize = 16;

/** Returns the cost of a search for `pattern`, in units of about 0.02 µs. */
export function searchCost({ expression }: Pattern, length: number): number {
  return Math.max(expression.programSize(), leastSize) * length;
}

export const searchTooLong = "the regular expression is too large for a text of this length";

/**
 * Replaces every match. Each replacement works on the result of the previous one, and never searches its own inserted
 * text again. Yields after each match.
 *
 * @param maxLength UTF-16 code units of the text before, between and after
 * @param maxSearch maximum cost of one search
 */
export function* replaceMatches(
  text: string,
  replacements: readonly TextReplacement[],
  { maxLength, maxSearch }: { readonly maxLength: number; readonly maxSearch: number },
): Generator<void, Replaced<string> | ReplaceFault> {
  if (text.length > maxLength) return faultTooLong(maxLength);
  const matches: FoundMatch[] = [];
  let content = text;
  for (const [index, { pattern, to }] of replacements.entries()) {
    const { expression } = pattern;
    if (searchCost(pattern, content.length) > maxSearch) return new ReplaceFault(searchTooLong, true);
    const matcher = expression.matcher(content);
    const pieces: string[] = [];
    let length = 0;
    let at = 0;
    while (matcher.find()) {
      const start = matcher.start();
      const inserted = expandReplacement(to, matcher, noVariables, maxLength);
      if (inserted === undefined) return faultTooLong(maxLength);
      length += start - at + inserted.length;
      if (length > maxLength) return faultTooLong(maxLength);
      pieces.push(content.slice(at, start), inserted);
      at = matcher.end();
      if (matches.length < maxMatches) {
        matches.push({ replacement_index: index, matched_content: content.slice(start, at).slice(0, maxMatchLength) });
      }
      yield;
    }
    if (at > 0 || pieces.length > 0) {
      if (length + content.length - at > maxLength) return faultTooLong(maxLength);
      content = pieces.join("") + content.slice(at);
    }
    yield;
  }
  return { content, matches };
}

export function faultTooLong(maxLength: number): ReplaceFault {
  return new ReplaceFault(`the text is longer than ${maxLength} bytes`, true);
}
