import {
  byteClass,
  colon,
  comma,
  cr,
  equalsText,
  lf,
  oddTokenByte,
  space,
  tab,
  tokenByte,
  valueByte,
} from "./bytes.ts";
import { oddKind, untidyKind } from "./field-table.ts";
import type { FieldTable } from "./field-table.ts";
import { known, findKnownField } from "./known-fields.ts";

/** Returned instead of a position: more bytes are needed, or the message must be refused. */
export const incomplete = -1;
export const malformed = -2;
/** The head exceeds the limits (431). */
export const tooLarge = -3;
/** The target exceeds the limit (414). */
export const targetTooLong = -4;

export interface HeadLimits {
  /** From the first byte of the start line to the empty line. */
  readonly maxHeadBytes: number;
  readonly maxFields: number;
  /** Of a request. */
  readonly maxTargetBytes: number;
}

/** Why the last message was refused, as a clause for logs. Valid directly after a reader returned less than -1. */
export let fault = "";

/** Records why a message is refused. */
export function refuseFields(reason: string): typeof malformed {
  fault = reason;
  return malformed;
}

/** Longest Content-Length: digits that always fit a safe integer. */
const maxLengthDigits = 15;

/**
 * Reads field lines from `start` to the empty line, strictly (RFC 9112 §5; security W1): no folding, no blank before
 * the colon, CR LF only, no control characters. The same pass evaluates framing fields and refuses contradictions.
 * Returns the position after the empty line, or a negative outcome.
 *
 * @param end bytes from here on are not read
 */
export function readFields(table: FieldTable, start: number, end: number, maxFields: number): number {
  const { bytes } = table;
  let at = start;
  let count = 0;
  for (;;) {
    if (at >= end) return incomplete;
    if (bytes[at] === cr) {
      if (at + 1 >= end) return incomplete;
      if (bytes[at + 1] !== lf) return refuseFields("bare CR");
      if (table.chunked && table.contentLength >= 0) return refuseFields("Transfer-Encoding and Content-Length");
      table.seal();
      return at + 2;
    }
    const nameStart = at;
    let classes = 0;
    let byte = bytes[at] as number;
    let byteIs = byteClass[byte] as number;
    while ((byteIs & tokenByte) !== 0) {
      classes |= byteIs;
      at += 1;
      if (at >= end) return incomplete;
      byte = bytes[at] as number;
      byteIs = byteClass[byte] as number;
    }
    if (byte !== colon || at === nameStart) return refuseFields(nameFault(byte, at === nameStart));
    const nameEnd = at;
    at += 1;
    while (at < end && (bytes[at] === space || bytes[at] === tab)) at += 1;
    const valueStart = at;
    while (at < end && ((byteClass[bytes[at] as number] as number) & valueByte) !== 0) at += 1;
    if (at + 1 >= end) {
      if (at < end && bytes[at] !== cr) return refuseFields("control character in a field value");
      return incomplete;
    }
    if (bytes[at] !== cr) return refuseFields(bytes[at] === lf ? "bare LF" : "control character in a field value");
    if (bytes[at + 1] !== lf) return refuseFields("bare CR");
    let valueEnd = at;
    while (valueEnd > valueStart && (bytes[valueEnd - 1] === space || bytes[valueEnd - 1] === tab)) valueEnd -= 1;
    const tidy = valueEnd === at && valueStart === nameEnd + 2 && bytes[nameEnd + 1] === space;
    at += 2;
    if (count === maxFields) {
      fault = "too many fields";
      return tooLarge;
    }
    const id = findKnownField(bytes, nameStart, nameEnd);
    if (id !== 0) {
      const outcome = noteField(table, count, id, valueStart, valueEnd);
      if (outcome !== 0) return outcome;
    }
    table.push(
      nameStart,
      nameEnd,
      valueStart,
      valueEnd,
      id | ((classes & oddTokenByte) === 0 ? 0 : oddKind) | (tidy ? 0 : untidyKind),
    );
    count += 1;
  }
}

/** Evaluates a field that framing depends on. Returns 0 or `malformed`. */
function noteField(table: FieldTable, index: number, id: number, start: number, end: number): number {
  const { bytes } = table;
  switch (id) {
    case known.host:
      table.hostCount += 1;
      table.hostIndex = index;
      return 0;
    case known["content-length"]: {
      if (table.contentLength >= 0) return refuseFields("several Content-Length");
      if (end === start || end - start > maxLengthDigits) return refuseFields("invalid Content-Length");
      let length = 0;
      for (let at = start; at < end; at += 1) {
        const digit = (bytes[at] as number) - 48;
        if (digit < 0 || digit > 9) return refuseFields("invalid Content-Length");
        length = length * 10 + digit;
      }
      table.contentLength = length;
      return 0;
    }
    case known["transfer-encoding"]:
      if (table.chunked) return refuseFields("several Transfer-Encoding");
      if (!equalsText(bytes, start, end, "chunked")) return refuseFields("Transfer-Encoding other than chunked");
      table.chunked = true;
      return 0;
    case known.connection:
      return noteConnection(table, start, end);
    case known.upgrade:
      if (table.upgradeIndex >= 0) return refuseFields("several Upgrade");
      table.upgradeIndex = index;
      return 0;
    case known.expect:
      table.expectIndex = index;
      return 0;
    default:
      return 0;
  }
}

function noteConnection(table: FieldTable, start: number, end: number): number {
  const { bytes } = table;
  let at = start;
  while (at < end) {
    while (at < end && (bytes[at] === space || bytes[at] === tab || bytes[at] === comma)) at += 1;
    const optionStart = at;
    while (at < end && ((byteClass[bytes[at] as number] as number) & tokenByte) !== 0) at += 1;
    if (at === optionStart) {
      if (at < end) return refuseFields("invalid Connection");
      break;
    }
    if (equalsText(bytes, optionStart, at, "close")) table.connectionClose = true;
    else if (equalsText(bytes, optionStart, at, "keep-alive")) table.connectionKeepAlive = true;
    else if (equalsText(bytes, optionStart, at, "upgrade")) table.connectionUpgrade = true;
    else table.connectionNames = true;
    while (at < end && (bytes[at] === space || bytes[at] === tab)) at += 1;
    if (at < end && bytes[at] !== comma) return refuseFields("invalid Connection");
  }
  return 0;
}

function nameFault(byte: number, empty: boolean): string {
  if (byte === lf) return "bare LF";
  if (byte === 0) return "NUL in a field name";
  if (byte === space || byte === tab) return empty ? "folded line" : "blank in or behind a field name";
  return empty ? "empty field name" : "invalid field name";
}
