/** Replaces secret values of records by keyed hashes. Equal values stay equal within a day. */
import { replaceValues } from "../format/head-lines.ts";
import type { HeadLines } from "../format/head-lines.ts";
import type { RecordOwner } from "../format/record-copier.ts";
import type { CaptureRule } from "../rule.ts";

/** Fields that carry credentials, and are hashed everywhere. */
const alwaysRedacted = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
/** Fields that repeat the request's URL, with its query. */
const urlFields: ReadonlySet<string> = new Set(["referer"]);

/** @param hash called with a value and when its request arrived, microseconds since 1970 */
export function redactionOf(
  { redactHeaders, redactQuery }: Pick<CaptureRule, "redactHeaders" | "redactQuery">,
  hash: (value: string, receivedAt: number) => string,
): RecordOwner {
  const secret = new Set([...alwaysRedacted, ...redactHeaders]);
  const hasQuery = redactQuery.length > 0;
  const isConcerned = nameMatcher(hasQuery ? [...secret, ...urlFields] : [...secret]);
  const query = (target: string, receivedAt: number): string =>
    redactQueryOf(target, redactQuery, (value) => hash(value, receivedAt));
  return {
    head: (lines: HeadLines, receivedAt: number) =>
      replaceValues(lines, isConcerned, (name, value) =>
        secret.has(name)
          ? { shown: hash(value, receivedAt), isHash: true }
          : { shown: query(value, receivedAt), isHash: false },
      ),
    target: hasQuery ? query : undefined,
  };
}

/** Returns whether the bytes are one of the names, in any case. Most names differ in length or first letter. */
function nameMatcher(names: readonly string[]): (bytes: Buffer, start: number, end: number) => boolean {
  const set = new Set(names);
  const longest = Math.max(...names.map(({ length }) => length));
  /** A bit for each first letter, by the length of the name. */
  const letters = new Int32Array(longest + 1);
  for (const name of names) letters[name.length] = (letters[name.length] ?? 0) | letterBit(name.charCodeAt(0));
  return (bytes, start, end) => {
    const length = end - start;
    if (length > longest || ((letters[length] as number) & letterBit(bytes[start] ?? 0)) === 0) return false;
    return set.has(bytes.latin1Slice(start, end).toLowerCase());
  };
}

/** Upper and lower case have the same low bits. */
function letterBit(byte: number): number {
  return 1 << (byte & 0x1f);
}

/** Replaces the values of the named parameters, whose names a client may have encoded. */
function redactQueryOf(target: string, names: readonly string[], hash: (value: string) => string): string {
  const start = target.indexOf("?");
  if (start < 0) return target;
  const parts = target.slice(start + 1).split("&");
  const shown = parts.map((part) => {
    const equals = part.indexOf("=");
    if (equals < 0 || !names.includes(decodeName(part.slice(0, equals)))) return part;
    return `${part.slice(0, equals + 1)}${hash(part.slice(equals + 1))}`;
  });
  return `${target.slice(0, start)}?${shown.join("&")}`;
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
