/** Replacement texts with `$0`, `$1` and, for URLs, `$host` in them. */

import type { Piece } from "../language/template.ts";

/** Literal text of the policy, the number of a group, the name of a variable, or text from the request. */
type ReplacementPart =
  | string
  | number
  | { readonly name: string; readonly source: string }
  | { readonly value: string };

/** Compiled; see `expandReplacement`. */
export type Replacement = readonly ReplacementPart[];

/**
 * A group number includes all following digits: `$10` is the tenth group. Any other `$` is literal. So is every `$` in
 * the value of a `${…}`, because a visitor may have sent it.
 */
export function compileReplacement(pieces: string | readonly Piece[]): Replacement {
  if (typeof pieces === "string") return partsOf(pieces);
  return pieces.flatMap((piece) => (typeof piece === "string" ? partsOf(piece) : [piece]));
}

function partsOf(text: string): ReplacementPart[] {
  const parts: ReplacementPart[] = [];
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

/** A match: the number of groups in its expression, and their texts. A group that did not participate is null. */
export interface Match {
  groupCount(): number;
  group(number: number): string | null;
}

/** Returns the value of a variable; undefined if it does not exist. */
export type Variables = (name: string) => string | undefined;

export const noVariables: Variables = () => undefined;

/** Unknown groups and variables stay literal. Returns undefined for a text longer than `maxLength`. */
export function expandReplacement(
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
