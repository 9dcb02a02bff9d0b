/**
 * Finds and replaces in whole texts (traffic policy, find-replace actions). A search is linear in the text and cannot
 * be interrupted, and one search per match may be quadratic in total. Short texts are processed on this thread in
 * slices between other work. All other texts are processed in a separate thread.
 */
import { captureWork } from "../../lib/heartbeat.ts";
import { isUtf8 } from "node:buffer";
import { replaceInThread } from "./replace-thread.ts";
import { ReplaceFault, replaceMatches, searchCost, searchTooLong, faultTooLong } from "./replacing.ts";
import type { Replaced, TextReplacement } from "./replacing.ts";

export interface ReplaceBounds {
  /** Maximum length of the text before, between and after, UTF-16 code units or bytes. */
  readonly maxLength: number;
  /** Account of the text: accounts take turns in the thread. */
  readonly owner: string;
  /** Returns the milliseconds that this thread has worked. Wall time would make texts fail on a busy machine. */
  readonly worked?: () => number;
}

/** Maximum size of a body, bytes. Longer ones are not changed. */
export const maxBodyBytes = 1024 * 1024;

/** Maximum work on one text, without pauses. */
const maxWorkMs = 250;
/** Maximum work before other work may run. */
const sliceMs = 5;
/** Searches of one text with a higher total cost run in the thread: 5 ms. */
const maxSearchHere = 256 * 1024;

/** Never rejects. */
export async function replaceInText(
  text: string,
  replacements: readonly TextReplacement[],
  bounds: ReplaceBounds,
): Promise<Replaced<string> | ReplaceFault> {
  const inSameWork = captureWork();
  const { maxLength, owner } = bounds;
  if (text.length > maxLength) return faultTooLong(maxLength);
  const cost = replacements.reduce((sum, { pattern }) => sum + searchCost(pattern, text.length), 0);
  if (cost > maxSearchHere) return replaceInThread({ text, replacements, maxLength, owner });
  const replaced = inSameWork(await replaceHere(text, replacements, bounds));
  const hasGrown = replaced instanceof ReplaceFault && replaced.message === searchTooLong;
  return hasGrown ? replaceInThread({ text, replacements, maxLength, owner }) : replaced;
}

async function replaceHere(
  text: string,
  replacements: readonly TextReplacement[],
  { maxLength, worked = threadMs }: ReplaceBounds,
): Promise<Replaced<string> | ReplaceFault> {
  const inSameWork = captureWork();
  const work = replaceMatches(text, replacements, { maxLength, maxSearch: maxSearchHere });
  let spent = 0;
  for (;;) {
    const started = worked();
    const slice = performance.now() + sliceMs;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < slice);
    spent += worked() - started;
    if (spent > maxWorkMs) return new ReplaceFault("the replacements take too long", true);
    inSameWork(await new Promise(setImmediate));
  }
}

/**
 * Same as `replaceInText`, for bytes. Bytes that are not UTF-8 do not change. Without a match, `content` is `bytes`.
 */
export async function replaceInBytes(
  bytes: Buffer,
  replacements: readonly TextReplacement[],
  bounds: ReplaceBounds,
): Promise<Replaced<Buffer> | ReplaceFault> {
  const inSameWork = captureWork();
  if (bytes.length > bounds.maxLength) return faultTooLong(bounds.maxLength);
  if (!isUtf8(bytes)) return new ReplaceFault("the text is not UTF-8");
  const replaced = inSameWork(await replaceInText(bytes.toString("utf8"), replacements, bounds));
  if (replaced instanceof ReplaceFault) return replaced;
  if (replaced.matches.length === 0) return { content: bytes, matches: [] };
  return { content: Buffer.from(replaced.content, "utf8"), matches: replaced.matches };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
