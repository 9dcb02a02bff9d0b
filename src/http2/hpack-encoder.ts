import type { FieldTable } from "../http1/field-table.ts";
import { lowerByte } from "../http1/bytes.ts";
import { indexedStatus, staticIndex } from "./hpack-tables.ts";

/**
 * Encodes header blocks with the static table only and without Huffman code. This costs a few bytes on the wire, needs
 * no state, and cannot conflict with a peer's table size.
 */
const statusIndex = staticIndex(":status");
/** Literal without indexing (RFC 7541 §6.2.2), with a literal name. */
const literal = 0;
const colon = 58;
const cr = 13;

/** HTTP/1 lines of the fields being encoded. */
let lines = Buffer.allocUnsafeSlow(16 * 1024);

/** An upper bound for the output of `encodeFields`. */
export function maxEncodedSize(fields: FieldTable): number {
  // A line has at least four bytes besides name and value. Lengths take one byte each, or up to four.
  return fields.byteBound * 2 + 16;
}

/** Writes `:status`, at most 6 bytes. Returns the end position. */
export function encodeStatus(target: Buffer, at: number, status: number): number {
  const index = indexedStatus.get(status);
  if (index !== undefined) {
    target[at] = 0x80 | index;
    return at + 1;
  }
  target[at] = statusIndex;
  target[at + 1] = 3;
  target[at + 2] = 48 + Math.floor(status / 100);
  target[at + 3] = 48 + (Math.floor(status / 10) % 10);
  target[at + 4] = 48 + (status % 10);
  return at + 5;
}

/** Writes every field with its name in lower case. Returns the end position. */
export function encodeFields(target: Buffer, start: number, fields: FieldTable): number {
  const bound = fields.byteBound;
  if (lines.length < bound) lines = Buffer.allocUnsafeSlow(bound);
  const end = fields.write(lines, 0);
  let at = start;
  let from = 0;
  while (from < end) {
    let nameEnd = from;
    while (lines[nameEnd] !== colon) nameEnd += 1;
    const valueStart = nameEnd + 2;
    let valueEnd = valueStart;
    while (lines[valueEnd] !== cr) valueEnd += 1;
    target[at] = literal;
    at = putLength(target, at + 1, nameEnd - from);
    for (let index = from; index < nameEnd; index += 1) {
      target[at] = lowerByte[lines[index] as number] as number;
      at += 1;
    }
    at = putLength(target, at, valueEnd - valueStart);
    at += lines.copy(target, at, valueStart, valueEnd);
    from = valueEnd + 2;
  }
  return at;
}

/** Writes one field. `name` is lower case, and both are Latin-1. */
export function encodeField(target: Buffer, start: number, name: string, value: string): number {
  target[start] = literal;
  let at = putLength(target, start + 1, name.length);
  at += target.write(name, at, "latin1");
  at = putLength(target, at, value.length);
  return at + target.write(value, at, "latin1");
}

/** Encodes a field up to its value, for fields that are written often. `name` is lower case. */
export function fieldStart(name: string, valueLength: number): Buffer {
  const start = Buffer.alloc(name.length + 11);
  start[0] = literal;
  let at = putLength(start, 1, name.length);
  at += start.latin1Write(name, at, name.length);
  return start.subarray(0, putLength(start, at, valueLength));
}

/** A string's length with a prefix of 7 bits, not Huffman-coded (RFC 7541 §5.1, §5.2). */
function putLength(target: Buffer, start: number, length: number): number {
  if (length < 127) {
    target[start] = length;
    return start + 1;
  }
  target[start] = 127;
  let at = start + 1;
  let rest = length - 127;
  while (rest >= 128) {
    target[at] = (rest & 127) | 128;
    rest >>>= 7;
    at += 1;
  }
  target[at] = rest;
  return at + 1;
}
