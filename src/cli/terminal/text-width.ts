/** Text on a terminal: its width in columns, and the characters that are safe to show. */
import { stripVTControlCharacters } from "node:util";

/** Characters two columns wide: East Asian wide and fullwidth characters, and emoji (UAX #11). */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
/** Characters without a width, which belong to the character before them. */
const joined = /^(?:\p{M}|[\u200B-\u200D])$/u;

function widthOf(character: string): number {
  if (joined.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/**
 * Cuts `line` to `columns` columns, because a wrapped line would break the next drawing. A cut line loses its colours.
 */
export function fitLine(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  let width = 0;
  let kept = "";
  for (const character of plain) {
    width += widthOf(character);
    if (width > columns) return columns < 1 ? "" : `${cutLine(kept, columns - 1)}…`;
    kept += character;
  }
  return line;
}

function cutLine(text: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return kept;
}

/**
 * Returns the user's own text, in any script, without control sequences and without characters that change the text
 * direction.
 */
export function shownText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, "?");
}
