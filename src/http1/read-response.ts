import { byteClass, cr, lf, space, valueByte } from "./bytes.ts";
import { FieldTable } from "./field-table.ts";
import { fault, incomplete, malformed, readFields, refuseFields, tooLarge } from "./read-fields.ts";
import type { HeadLimits } from "./read-fields.ts";
import type { HeadRefusal } from "./read-request.ts";

/** A parsed response head. */
export interface ResponseRead {
  readonly status: number;
  readonly reason: string;
  /** 0 or 1: the digit after `HTTP/1.`. */
  readonly minorVersion: number;
  readonly fields: FieldTable;
  /** Where the body, or the next message, starts. */
  readonly end: number;
}

/** `HTTP/1.` */
const versionStart = [72, 84, 84, 80, 47, 49, 46];
const okReason = "OK";

/**
 * Parses one response head at `start`, as strictly as a request (security W4). Returns undefined if it is incomplete.
 * Statuses outside 100–599 and interim responses with a body are refused.
 */
export function readResponseHead(
  bytes: Buffer,
  start: number,
  limits: Pick<HeadLimits, "maxHeadBytes" | "maxFields">,
): ResponseRead | HeadRefusal | undefined {
  const { length } = bytes;
  const end = Math.min(length, start + limits.maxHeadBytes);
  let at = start;
  for (const expected of versionStart) {
    if (at >= end) return checkUnfinished(end < length, limits);
    if (bytes[at] !== expected)
      return toRefusal(refuseFields(isTls(bytes[start]) ? "TLS, not HTTP" : "not an HTTP/1 response"));
    at += 1;
  }
  // `1 200 ` and the next byte are examined when all of them have arrived.
  if (at + 6 > end) return checkUnfinished(end < length, limits);
  const minorVersion = (bytes[at] as number) - 48;
  if (minorVersion !== 0 && minorVersion !== 1) return toRefusal(refuseFields("HTTP version other than 1.0 and 1.1"));
  if (bytes[at + 1] !== space) return toRefusal(refuseFields("invalid status line"));
  const status = parseDigit(bytes[at + 2]) * 100 + parseDigit(bytes[at + 3]) * 10 + parseDigit(bytes[at + 4]);
  if (!(status >= 100 && status <= 599)) return toRefusal(refuseFields("invalid status"));
  at += 5;
  let reasonStart = at;
  if (bytes[at] === space) {
    at += 1;
    reasonStart = at;
    while (at < end && ((byteClass[bytes[at] as number] as number) & valueByte) !== 0) at += 1;
  }
  const reasonEnd = at;
  if (at < end && bytes[at] !== cr) return toRefusal(refuseFields("invalid status line"));
  if (at + 1 >= end) return checkUnfinished(end < length, limits);
  if (bytes[at + 1] !== lf) return toRefusal(refuseFields("bare CR"));
  const fields = new FieldTable(bytes, limits.maxFields);
  const outcome = readFields(fields, at + 2, end, limits.maxFields);
  if (outcome === incomplete) return checkUnfinished(end < length, limits);
  if (outcome < 0) return toRefusal(outcome);
  if (fields.chunked && minorVersion === 0) return toRefusal(refuseFields("Transfer-Encoding in HTTP/1.0"));
  if (status < 200) {
    if (fields.chunked || fields.contentLength > 0) return toRefusal(refuseFields("a body where there can be none"));
  }
  const isOk = reasonEnd - reasonStart === 2 && bytes[reasonStart] === 79 && bytes[reasonStart + 1] === 75;
  return {
    status,
    reason: isOk ? okReason : bytes.latin1Slice(reasonStart, reasonEnd),
    minorVersion,
    fields,
    end: outcome,
  };
}

function parseDigit(byte: number | undefined): number {
  return byte !== undefined && byte >= 48 && byte <= 57 ? byte - 48 : Number.NaN;
}

function checkUnfinished(
  atLimit: boolean,
  { maxHeadBytes }: Pick<HeadLimits, "maxHeadBytes">,
): HeadRefusal | undefined {
  return atLimit ? { outcome: tooLarge, reason: `its head is longer than ${maxHeadBytes} bytes` } : undefined;
}

/** A TLS record with an alert or a handshake message, which means that the service expects TLS. */
function isTls(byte: number | undefined): boolean {
  return byte === 21 || byte === 22;
}

function toRefusal(outcome: number): HeadRefusal {
  return { outcome: outcome === tooLarge ? tooLarge : malformed, reason: fault };
}
