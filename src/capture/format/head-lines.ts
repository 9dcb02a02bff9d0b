/** Header fields as lines: `name: value` and CR LF. */
import type { HeaderPairs } from "../../traffic/header-list.ts";
import { hashMark } from "./layout.ts";

/** Lines as they are in memory, from `linesStart` to `linesEnd`. The last one may lack its CR LF. */
export interface HeadLines {
  readonly bytes: Buffer;
  readonly linesStart: number;
  readonly linesEnd: number;
}

export interface ReadFields {
  readonly fields: HeaderPairs;
  /** Names of the fields whose values are hashes, lower case. */
  readonly redacted: readonly string[];
}

const [tab, lf, cr, space, colon] = [9, 10, 13, 32, 58];
const noNames: readonly string[] = Object.freeze([]);

export function linesOf(fields: HeaderPairs): HeadLines {
  const bytes = Buffer.from(fields.map(([name, value]) => `${name}: ${value}\r\n`).join(""), "latin1");
  return { bytes, linesStart: 0, linesEnd: bytes.length };
}

/** Returns the fields with their names in lower case. */
export function fieldsIn({ bytes, linesStart, linesEnd }: HeadLines): ReadFields {
  const fields: (readonly [string, string])[] = [];
  let redacted: string[] | undefined;
  for (let at = linesStart; at < linesEnd;) {
    const next = lineEnd(bytes, at, linesEnd);
    let nameEnd = at;
    while (nameEnd < next && bytes[nameEnd] !== colon) nameEnd += 1;
    const name = bytes.latin1Slice(at, nameEnd).toLowerCase();
    if (bytes[nameEnd + 1] === hashMark) {
      redacted ??= [];
      if (!redacted.includes(name)) redacted.push(name);
    }
    const start = valueStart(bytes, nameEnd, next);
    fields.push([name, bytes.latin1Slice(start, valueEnd(bytes, start, next))]);
    at = next + 2;
  }
  return { fields, redacted: redacted ?? noNames };
}

/**
 * Replaces values.
 * @param valueOf returns the value to show, or undefined for a hash of `value`
 */
export function replaceValues(
  lines: HeadLines,
  isConcerned: (bytes: Buffer, start: number, end: number) => boolean,
  valueOf: (name: string, value: string) => { readonly shown: string; readonly isHash: boolean },
): HeadLines {
  const { bytes, linesStart, linesEnd } = lines;
  let shown = "";
  let copied = linesStart;
  for (let at = linesStart; at < linesEnd;) {
    const next = lineEnd(bytes, at, linesEnd);
    let nameEnd = at;
    while (nameEnd < next && bytes[nameEnd] !== colon) nameEnd += 1;
    if (isConcerned(bytes, at, nameEnd)) {
      const start = valueStart(bytes, nameEnd, next);
      const end = valueEnd(bytes, start, next);
      const name = bytes.latin1Slice(at, nameEnd).toLowerCase();
      const given = valueOf(name, bytes.latin1Slice(start, end));
      const mark = given.isHash ? String.fromCharCode(hashMark) : " ";
      shown += `${bytes.latin1Slice(copied, nameEnd + 1)}${mark}${given.shown}`;
      copied = next;
    }
    at = next + 2;
  }
  if (copied === linesStart) return lines;
  const replaced = Buffer.from(shown + bytes.latin1Slice(copied, linesEnd), "latin1");
  return { bytes: replaced, linesStart: 0, linesEnd: replaced.length };
}

/** Position of the line's CR, or the end of the lines. */
function lineEnd(bytes: Buffer, at: number, linesEnd: number): number {
  let end = at;
  while (end < linesEnd && bytes[end] !== lf) end += 1;
  return end < linesEnd && bytes[end - 1] === cr ? end - 1 : end;
}

function valueStart(bytes: Buffer, nameEnd: number, lineEnd: number): number {
  let at = Math.min(nameEnd + 1, lineEnd);
  if (bytes[at] === hashMark) return at + 1;
  while (at < lineEnd && isBlank(bytes[at])) at += 1;
  return at;
}

function valueEnd(bytes: Buffer, start: number, lineEnd: number): number {
  let end = lineEnd;
  while (end > start && isBlank(bytes[end - 1])) end -= 1;
  return end;
}

function isBlank(byte: number | undefined): boolean {
  return byte === space || byte === tab;
}
