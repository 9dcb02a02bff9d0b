/**
 * G13: the one sanitiser for text that strangers wrote and people read: what a terminal or a page would obey instead of
 * showing is written as an escape, which is valid in JSON and in quoted YAML as well.
 */

/** Controls, directions of writing, invisible signs, line and paragraph separators; joiners stay, as scripts need them. */
const obeyed = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;
const everyObeyed = new RegExp(obeyed.source, "gu");
/** The same without what separates lines and columns. */
const inText = /(?!\r\n|[\n\t])(?:[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf})/u;
const everyInText = new RegExp(inText.source, "gu");

/** A value on one line: it can forge no other. */
export function visibleLine(text: string): string {
  return obeyed.test(text) ? text.replaceAll(everyObeyed, escaped) : text;
}

/** Text of several lines. */
export function visibleText(text: string): string {
  return inText.test(text) ? text.replaceAll(everyInText, escaped) : text;
}

/** A copy of a JSON value in which every text and name is one line. */
export function visibleLines<T>(value: T): T {
  if (typeof value === "string") return visibleLine(value) as T;
  if (Array.isArray(value)) return value.map(visibleLines) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [visibleLine(name), visibleLines(one)])) as T;
}

function escaped(sign: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[sign];
  return short ?? Array.from({ length: sign.length }, (_, at) => unitOf(sign, at)).join("");
}

function unitOf(sign: string, at: number): string {
  return `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`;
}
