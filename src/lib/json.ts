/**
 * Strict parser for untrusted JSON: it accepts only text that every parser reads in the same way (RFC 8259 §4, §8.1).
 */
import { isUtf8 } from "node:buffer";

/** Maximum nesting of objects and lists; the outermost counts as 1. */
export const maxJsonDepth = 32;

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Thrown for bytes that are not one acceptable JSON object. The message contains the reason, never the content. */
export class JsonIssue extends Error {}

/**
 * Parses one object. Rejects invalid UTF-8, a byte order mark, anything but one object, the same name twice in an
 * object, the name `__proto__`, and nesting deeper than 32. Lone surrogates in escapes stay unchanged.
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const value = parseJson(bytes);
  if (!isJsonObject(value)) throw new JsonIssue("is not a JSON object");
  return value;
}

/** As `parseJsonObject`, for any value. */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new JsonIssue("is not valid UTF-8");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new JsonIssue(`is not valid JSON${describePosition(error)}`);
  }
  checkNames(text);
  return value;
}

/** Returns the position where V8 stopped, without the excerpt in its message. */
function describePosition(error: unknown): string {
  const found = /at position (\d+)/.exec(error instanceof Error ? error.message : "");
  return found ? ` at character ${found[1]}` : "";
}

/** Checks names and depth in one pass over valid JSON. */
function checkNames(text: string): void {
  // For each open container, the names so far, or undefined for a list.
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
        if (open.length === maxJsonDepth) throw new JsonIssue(`is nested deeper than ${maxJsonDepth}`);
        expectsName = text.charCodeAt(at) === 0x7b;
        open.push(expectsName ? new Set() : undefined);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        expectsName = open.at(-1) !== undefined;
        break;
      case 0x22: {
        const end = findClosingQuote(text, at + 1);
        if (expectsName) {
          const raw = text.slice(at + 1, end);
          const name = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
          const seen = open.at(-1) as Set<string>;
          if (seen.has(name)) throw new JsonIssue("has the same name twice in one object");
          if (name === "__proto__") throw new JsonIssue('has the name "__proto__"');
          seen.add(name);
          expectsName = false;
        }
        at = end;
        break;
      }
      default:
    }
  }
}

function findClosingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from);
  for (;;) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}
