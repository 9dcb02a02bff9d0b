/**
 * G13: the one sanitiser for untrusted text that people read. Characters that a terminal or a page would interpret
 * instead of displaying become escapes, which are valid in JSON and in quoted YAML.
 */

/**
 * Controls, directions of writing, invisible signs, line and paragraph separators. Joiners stay, because scripts need
 * them.
 */
const obeyed = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;
const everyObeyed = new RegExp(obeyed.source, "gu");
/** Same as `obeyed`, without separators of lines and columns. */
const inText = /(?!\r\n|[\n\t])(?:[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf})/u;
const everyInText = new RegExp(inText.source, "gu");

/** Returns a value on one line, so it cannot forge another line. */
export function toVisibleLine(text: string): string {
  return obeyed.test(text) ? text.replaceAll(everyObeyed, escapeSign) : text;
}

/** Returns text of several lines. */
export function toVisibleText(text: string): string {
  return inText.test(text) ? text.replaceAll(everyInText, escapeSign) : text;
}

/** Returns a copy of a JSON value in which every text and name is a single line. */
export function toVisibleLines<T>(value: T): T {
  if (typeof value === "string") return toVisibleLine(value) as T;
  if (Array.isArray(value)) return value.map(toVisibleLines) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [toVisibleLine(name), toVisibleLines(one)]),
  ) as T;
}

function escapeSign(sign: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[sign];
  return short ?? Array.from({ length: sign.length }, (_, at) => unitOf(sign, at)).join("");
}

function unitOf(sign: string, at: number): string {
  return `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`;
}
