/**
 * M2: text of strangers (descriptions, paths, headers, names) is data. It appears only in double quotes, on one line, in
 * bounded length, so that it cannot pass for text of the server.
 */
import { toVisibleLine, toVisibleLines } from "../../lib/visible-text.ts";

/** Maximum length of a quoted value, characters. */
const maxLength = 200;

/** Maximum length of a tool's answer, characters. */
export const maxAnswerLength = 16_000;

/** Returns the value in double quotes, or as JSON if it is no text. */
export function quoteValue(value: unknown, max = maxLength): string {
  const text = toVisibleLine(typeof value === "string" ? value : (JSON.stringify(value) ?? "null"));
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return typeof value === "string" ? JSON.stringify(cut).replaceAll("\\\\u", "\\u") : cut;
}

/** Returns an object as JSON on several lines, without empty values. */
export function quoteObject(value: unknown): string {
  return cutTo(JSON.stringify(withoutEmpty(toVisibleLines(value)), undefined, 1) ?? "null", 8_000);
}

/** Cuts a text of several lines at a line break, and adds that it was cut. */
export function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.lastIndexOf("\n", max);
  return `${text.slice(0, end > 0 ? end : max)}\n… (cut)`;
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const isEmpty = (one: unknown): boolean => one === null || one === "" || (Array.isArray(one) && one.length === 0);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (isEmpty(one) ? [] : [[name, withoutEmpty(one)]])),
  );
}
