/**
 * Finding and replacing in whole texts (traffic policy, find-replace actions). A single search takes time linear in the
 * text, but a search for each match may add up to its square: so all of them share a time, and let others run between.
 */
import { isUtf8 } from "node:buffer";
import type { Pattern } from "../../cel/values/regex.ts";
import { expand } from "./replacement.ts";
import type { Replacement } from "./replacement.ts";

export interface TextReplacement {
  readonly pattern: Pattern;
  readonly to: Replacement;
}

/** A match as rules read it: cut to 1024 characters, the first hundred of a text. */
export interface FoundMatch {
  readonly replacement_index: number;
  readonly matched_content: string;
}

export interface Replaced<T> {
  readonly content: T;
  readonly matches: readonly FoundMatch[];
}

/** Why a text stays as it is, one clause. */
export class ReplaceFault {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export interface ReplaceBounds {
  /** UTF-16 code units, or bytes, of the text before, between and after. */
  readonly maxLength: number;
  /** Milliseconds that this thread has worked: its own, as a busy machine must not make texts fail. */
  readonly worked?: () => number;
}

/** Of a body; longer ones are not changed. */
export const maxBodyBytes = 1024 * 1024;

const maxMatches = 100;
const maxMatchLength = 1024;
/** Of work on one text, pauses not counted. */
const maxWorkMs = 250;
/** Of work until others may run. */
const sliceMs = 5;
/** A search is not interrupted: instructions of the expression times length of the text, about 0.3 s at worst. */
const maxSearch = 32 * 1024 * 1024;

/**
 * Replaces every match, each replacement in the result of the one before. The text of a match is never searched again
 * by the same replacement. Never rejects.
 */
export async function replaceInText(
  text: string,
  replacements: readonly TextReplacement[],
  { maxLength, worked = threadMs }: ReplaceBounds,
): Promise<Replaced<string> | ReplaceFault> {
  const work = replacing(text, replacements, maxLength);
  let spent = 0;
  for (;;) {
    const started = worked();
    const slice = performance.now() + sliceMs;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < slice);
    spent += worked() - started;
    if (spent > maxWorkMs) return new ReplaceFault("the replacements take too long");
    await new Promise(setImmediate);
  }
}

/** The same in bytes that are UTF-8; others stay as they are. Without a match, `content` is `bytes`. */
export async function replaceInBytes(
  bytes: Buffer,
  replacements: readonly TextReplacement[],
  bounds: ReplaceBounds,
): Promise<Replaced<Buffer> | ReplaceFault> {
  if (bytes.length > bounds.maxLength) return tooLong(bounds.maxLength);
  if (!isUtf8(bytes)) return new ReplaceFault("the text is not UTF-8");
  const replaced = await replaceInText(bytes.toString("utf8"), replacements, bounds);
  if (replaced instanceof ReplaceFault) return replaced;
  if (replaced.matches.length === 0) return { content: bytes, matches: [] };
  return { content: Buffer.from(replaced.content, "utf8"), matches: replaced.matches };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Yields after each match. */
function* replacing(
  text: string,
  replacements: readonly TextReplacement[],
  maxLength: number,
): Generator<void, Replaced<string> | ReplaceFault> {
  if (text.length > maxLength) return tooLong(maxLength);
  const matches: FoundMatch[] = [];
  let content = text;
  for (const [index, { pattern, to }] of replacements.entries()) {
    const { expression } = pattern;
    if (expression.programSize() * content.length > maxSearch) {
      return new ReplaceFault("the regular expression is too large for a text of this length");
    }
    const matcher = expression.matcher(content);
    const pieces: string[] = [];
    let length = 0;
    let at = 0;
    while (matcher.find()) {
      const start = matcher.start();
      const inserted = expand(to, matcher);
      length += start - at + inserted.length;
      if (length > maxLength) return tooLong(maxLength);
      pieces.push(content.slice(at, start), inserted);
      at = matcher.end();
      if (matches.length < maxMatches) {
        matches.push({ replacement_index: index, matched_content: content.slice(start, at).slice(0, maxMatchLength) });
      }
      yield;
    }
    if (at > 0 || pieces.length > 0) {
      if (length + content.length - at > maxLength) return tooLong(maxLength);
      content = pieces.join("") + content.slice(at);
    }
    yield;
  }
  return { content, matches };
}

function tooLong(maxLength: number): ReplaceFault {
  return new ReplaceFault(`the text is longer than ${maxLength} bytes`);
}
