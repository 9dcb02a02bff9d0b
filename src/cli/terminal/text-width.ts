/** Text on a terminal: how many columns it takes, and what of it may be shown. */
import { stripVTControlCharacters } from "node:util";

/** Of two columns: East Asian wide and fullwidth characters, and what is drawn as emoji (UAX #11). */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
/** Of none: they belong to the character before. */
const joined = /^(?:\p{M}|[\u200B-\u200D])$/u;

function widthOf(character: string): number {
  if (joined.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/**
 * `line` in at most `columns` columns: one that would wrap would be drawn over wrongly the next time. It is cut
 * without its colours.
 */
export function fit(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  let width = 0;
  let kept = "";
  for (const character of plain) {
    width += widthOf(character);
    if (width > columns) return columns < 1 ? "" : `${cut(kept, columns - 1)}…`;
    kept += character;
  }
  return line;
}

function cut(text: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return kept;
}

/** Text of the user's own, in any script, without what a terminal would take for a command or turn around. */
export function shownText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, "?");
}
