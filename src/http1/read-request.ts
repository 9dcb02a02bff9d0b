import { byteClass, cr, lf, space, targetByte, tokenByte } from "./bytes.ts";
import { FieldTable } from "./field-table.ts";
import { fault, incomplete, malformed, readFields, refuseFields, targetTooLong, tooLarge } from "./read-fields.ts";
import type { HeadLimits } from "./read-fields.ts";

/** Longest accepted method. The longest registered one has 17 letters. */
const maxMethodBytes = 32;
const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"];
/** `HTTP/1.` */
const versionStart = [72, 84, 84, 80, 47, 49, 46];
/** Minimum length of method, target and version with separators: `A / HTTP/1.1` and CR LF. */
const versionBytes = versionStart.length + 1;

/** A parsed request head. */
export interface RequestRead {
  readonly method: string;
  /** As sent: visible ASCII without "#"; any of the four forms of RFC 9112 §3.2. */
  readonly target: string;
  /** 0 or 1: the digit after `HTTP/1.`. */
  readonly minorVersion: number;
  readonly fields: FieldTable;
  /** Where the body, or the next message, starts. */
  readonly end: number;
}

/** Why a head was refused. */
export interface HeadRefusal {
  readonly outcome: typeof malformed | typeof tooLarge | typeof targetTooLong;
  /** A clause for logs. */
  readonly reason: string;
}

/**
 * Parses one request head at `start`, strictly and in one pass (RFC 9112; security W1). Returns undefined if it is
 * incomplete. The framing has been checked: exactly one Host, no contradicting lengths, no transfer coding before
 * HTTP/1.1.
 */
export function readRequestHead(
  bytes: Buffer,
  start: number,
  limits: HeadLimits,
): RequestRead | HeadRefusal | undefined {
  const { length } = bytes;
  const end = Math.min(length, start + limits.maxHeadBytes);
  let at = start;
  // One empty line before the request line is ignored (RFC 9112 §2.2), but not several.
  if (at < end && bytes[at] === cr) {
    if (at + 1 >= end) return undefined;
    if (bytes[at + 1] !== lf) return toRefusal(refuseFields("bare CR"));
    at += 2;
  }
  const methodStart = at;
  while (at < end && ((byteClass[bytes[at] as number] as number) & tokenByte) !== 0) at += 1;
  if (at - methodStart > maxMethodBytes) return toRefusal(refuseFields("method too long"));
  if (at >= end) return checkUnfinished(end < length);
  if (bytes[at] !== space || at === methodStart) return toRefusal(refuseFields("invalid method"));
  const methodEnd = at;
  const targetStart = at + 1;
  const targetEnd = Math.min(end, targetStart + limits.maxTargetBytes);
  at = targetStart;
  while (at < targetEnd && isTargetByte(bytes[at] as number)) at += 1;
  if (at === end) return end < length ? toRefusal(targetTooLong) : undefined;
  if (at === targetEnd && isTargetByte(bytes[at] as number)) return toRefusal(targetTooLong);
  if (bytes[at] !== space || at === targetStart) return toRefusal(refuseFields("invalid request target"));
  const targetStop = at;
  at += 1;
  for (let index = 0; index < versionBytes; index += 1) {
    if (at >= end) return checkUnfinished(end < length);
    const byte = bytes[at] as number;
    if (index < versionStart.length ? byte !== versionStart[index] : byte !== 48 && byte !== 49) {
      return toRefusal(refuseFields("HTTP version other than 1.0 and 1.1"));
    }
    at += 1;
  }
  const minorVersion = (bytes[at - 1] as number) - 48;
  if (at < end && bytes[at] !== cr) return toRefusal(refuseFields("request line not ended by CR LF"));
  if (at + 1 >= end) return checkUnfinished(end < length);
  if (bytes[at + 1] !== lf) return toRefusal(refuseFields("bare CR"));
  const fields = new FieldTable(bytes, limits.maxFields);
  const outcome = readFields(fields, at + 2, end, limits.maxFields);
  if (outcome === incomplete) return checkUnfinished(end < length);
  if (outcome < 0) return toRefusal(outcome);
  if (fields.hostCount !== 1) return toRefusal(refuseFields(fields.hostCount === 0 ? "no Host" : "several Host"));
  if (fields.chunked && minorVersion === 0) return toRefusal(refuseFields("Transfer-Encoding in HTTP/1.0"));
  return {
    method: methodText(bytes, methodStart, methodEnd),
    target: bytes.latin1Slice(targetStart, targetStop),
    minorVersion,
    fields,
    end: outcome,
  };
}

function isTargetByte(byte: number): boolean {
  return ((byteClass[byte] as number) & targetByte) !== 0;
}

function checkUnfinished(atLimit: boolean): HeadRefusal | undefined {
  return atLimit ? { outcome: tooLarge, reason: "head too large" } : undefined;
}

function toRefusal(outcome: number): HeadRefusal {
  if (outcome === targetTooLong) return { outcome: targetTooLong, reason: "request target too long" };
  return { outcome: outcome === tooLarge ? tooLarge : malformed, reason: fault };
}

/** Returns common methods without allocating a string. */
function methodText(bytes: Buffer, start: number, end: number): string {
  for (const method of methods) {
    if (method.length !== end - start || method.charCodeAt(0) !== bytes[start]) continue;
    let same = 1;
    while (same < method.length && method.charCodeAt(same) === bytes[start + same]) same += 1;
    if (same === method.length) return method;
  }
  return bytes.latin1Slice(start, end);
}
