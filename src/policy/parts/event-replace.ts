/** Finds and replaces text in the messages of an event stream (traffic policy, sse-find-replace). */
import { captureWork } from "../../lib/heartbeat.ts";
import { isUtf8 } from "node:buffer";
import { fieldOf, readMessage, renderMessage, withField } from "./event-message.ts";
import type { EventField } from "./event-message.ts";
import { maxMessageBytes } from "./change-events.ts";
import { replaceInText } from "./find-replace.ts";
import { ReplaceFault } from "./replacing.ts";
import type { FoundMatch, Replaced, TextReplacement } from "./replacing.ts";

export interface FieldReplacement extends TextReplacement {
  readonly field: EventField;
}

/** Maximum growth of a message, as a multiple of the longest readable message. */
const maxGrowth = 4;
const byteOrderMark = "\u{feff}";

/**
 * Applies each replacement to the result of the previous one, one field of the message at a time. Without a match,
 * `content` equals `message` in every byte. Never rejects.
 *
 * @param owner the account of the stream
 */
export async function replaceInMessage(
  message: Buffer,
  replacements: readonly FieldReplacement[],
  owner: string,
): Promise<Replaced<Buffer> | ReplaceFault> {
  const inSameWork = captureWork();
  if (!isUtf8(message)) return new ReplaceFault("the message is not UTF-8");
  const text = message.toString("utf8");
  // Only a stream can begin with a byte order mark. It is not part of the first field's name.
  const start = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  let changed = readMessage(text.slice(start.length));
  const matches: FoundMatch[] = [];
  for (const [index, { field, ...replacement }] of replacements.entries()) {
    const value = fieldOf(changed, field);
    if (value === undefined) continue;
    const bounds = { maxLength: maxGrowth * maxMessageBytes, owner };
    const replaced = inSameWork(await replaceInText(value, [replacement], bounds));
    if (replaced instanceof ReplaceFault) return replaced;
    if (replaced.matches.length === 0) continue;
    matches.push(...replaced.matches.map((match) => ({ ...match, replacement_index: index })));
    const next = withField(changed, field, replaced.content);
    if (!next) return new ReplaceFault(`the field ${field} cannot contain the new value`);
    changed = next;
  }
  if (matches.length === 0) return { content: message, matches };
  return { content: Buffer.from(start + renderMessage(changed), "utf8"), matches };
}
