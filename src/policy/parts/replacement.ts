/** What matches are replaced by: texts with `$0`, `$1` and, for URLs, `$host` in them. */

/** Literal text, the number of a group, or the name of a variable. */
type Part = string | number | { readonly name: string; readonly source: string };

/** Compiled; see `expand`. */
export type Replacement = readonly Part[];

/** Numbers are as long as digits go: `$10` is the tenth group. Any other `$` is itself. */
export function compileReplacement(text: string): Replacement {
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

const noVariables: Variables = () => undefined;

/** Groups and variables that there are not stay as they were written. */
export function expand(replacement: Replacement, match: Match, variables: Variables = noVariables): string {
  let text = "";
  for (const part of replacement) {
    if (typeof part === "string") text += part;
    else if (typeof part === "number") text += part <= match.groupCount() ? (match.group(part) ?? "") : `$${part}`;
    else text += variables(part.name) ?? part.source;
  }
  return text;
}
