/** What matches are replaced by: texts with `$0`, `$1` and, for URLs, `$host` in them. */

import type { Piece } from "../language/template.ts";

/** Text as the policy has it, the number of a group, the name of a variable, or text that came with the request. */
type Part = string | number | { readonly name: string; readonly source: string } | { readonly value: string };

/** Compiled; see `expand`. */
export type Replacement = readonly Part[];

/**
 * Numbers are as long as digits go: `$10` is the tenth group. Any other `$` is itself, and so is every `$` in the value of
 * a `${…}`: a visitor may have sent it.
 */
export function compileReplacement(pieces: string | readonly Piece[]): Replacement {
  if (typeof pieces === "string") return partsOf(pieces);
  return pieces.flatMap((piece) => (typeof piece === "string" ? partsOf(piece) : [piece]));
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const found of text.matchAll(/\$(?:(\d+)|([A-Za-z_]\w*))/g)) {
    const [source, digits, name] = found;
    if (found.index > at) parts.push(text.slice(at, found.index));
    if (digits !== undefined) parts.push(Number(digits));
    else parts.push({ name: name as string, source });
    at = found.index + source.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/** A match: how many groups its expression has, and their texts; a group that took no part is null. */
export interface Match {
  groupCount(): number;
  group(number: number): string | null;
}

/** What variables stand for; undefined for those that there are not. */
export type Variables = (name: string) => string | undefined;

export const noVariables: Variables = () => undefined;

/** Groups and variables that do not exist stay as they were written. undefined for a text longer than `maxLength`. */
export function expand(
  replacement: Replacement,
  match: Match,
  variables: Variables,
  maxLength: number,
): string | undefined {
  let text = "";
  for (const part of replacement) {
    if (typeof part === "string") text += part;
    else if (typeof part === "number") text += part <= match.groupCount() ? (match.group(part) ?? "") : `$${part}`;
    else text += "value" in part ? part.value : (variables(part.name) ?? part.source);
    if (text.length > maxLength) return undefined;
  }
  return text;
}
