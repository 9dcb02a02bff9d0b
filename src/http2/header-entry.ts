import { byteClass, oddTokenByte, tokenByte, valueByte } from "../http1/bytes.ts";
import { oddKind } from "../http1/field-table.ts";
import { known, findKnownField } from "../http1/known-fields.ts";

/**
 * Numbers of the pseudo-fields (RFC 9113 §8.3, RFC 8441 §4); the last one belongs to responses. 0 is a regular field.
 */
export const pseudo = {
  ":method": 1,
  ":scheme": 2,
  ":authority": 3,
  ":path": 4,
  ":protocol": 5,
  ":status": 6,
} as const;
/** An unknown pseudo-field. */
const unknownPseudo = 7;

/** One field of the static or dynamic table, with precomputed properties. */
export interface HeaderEntry {
  /** `name: value` and CR LF, as in HTTP/1.1. */
  readonly line: Buffer;
  readonly nameLength: number;
  /** As in the field tables of HTTP/1.1: number in `known`, and flags. */
  readonly kind: number;
  readonly pseudo: number;
  /** Value of a pseudo-field. */
  readonly value: string;
  /** Why a message with this field is malformed; "" if it is not. */
  readonly fault: string;
  /** Size according to HPACK (RFC 7541 §4.1). */
  readonly size: number;
}

/** @param line `name: value` and CR LF; stored without copying */
export function headerEntry(line: Buffer, nameLength: number): HeaderEntry {
  const valueStart = nameLength + 2;
  const valueEnd = line.length - 2;
  const pseudoNumber = pseudoOf(line, 0, nameLength);
  const kind = pseudoNumber === 0 ? kindOf(line, 0, nameLength) : 0;
  return {
    line,
    nameLength,
    kind,
    pseudo: pseudoNumber,
    value: pseudoNumber === 0 ? "" : line.toString("latin1", valueStart, valueEnd),
    fault: fieldFault(line, 0, nameLength, valueStart, valueEnd, pseudoNumber, kind),
    size: nameLength + valueEnd - valueStart + 32,
  };
}

/** Returns the number of a pseudo-field's name; 0 for a regular field. */
export function pseudoOf(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] !== 58) return 0;
  const name = bytes.toString("latin1", start, end);
  return Object.hasOwn(pseudo, name) ? pseudo[name as keyof typeof pseudo] : unknownPseudo;
}

export function kindOf(bytes: Buffer, start: number, end: number): number {
  let classes = 0;
  for (let at = start; at < end; at += 1) classes |= byteClass[bytes[at] as number] as number;
  return findKnownField(bytes, start, end) | ((classes & oddTokenByte) === 0 ? 0 : oddKind);
}

/**
 * Returns why a message with this field is malformed (RFC 9113 §8.2.1, §8.2.2; security W3), or "". Names are tokens
 * without capitals, values have no control characters and no surrounding white space, and no field is
 * connection-specific.
 */
export function fieldFault(
  bytes: Buffer,
  nameStart: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
  pseudoNumber: number,
  kind: number,
): string {
  for (let at = valueStart; at < valueEnd; at += 1) {
    if (((byteClass[bytes[at] as number] as number) & valueByte) === 0) return "control character in a field value";
  }
  if (valueEnd > valueStart && (isBlank(bytes[valueStart]) || isBlank(bytes[valueEnd - 1]))) {
    return "blank at the end of a field value";
  }
  if (pseudoNumber !== 0) return pseudoNumber === unknownPseudo ? "unknown pseudo-field" : "";
  if (nameEnd === nameStart) return "empty field name";
  for (let at = nameStart; at < nameEnd; at += 1) {
    const byte = bytes[at] as number;
    if (((byteClass[byte] as number) & tokenByte) === 0) return "invalid field name";
    if (byte >= 65 && byte <= 90) return "capital in a field name";
  }
  switch (kind & 0xff) {
    case known.connection:
    case known["proxy-connection"]:
    case known["keep-alive"]:
    case known["transfer-encoding"]:
    case known.upgrade:
    case known["http2-settings"]:
      return "connection-specific field";
    case known.te:
      return bytes.toString("latin1", valueStart, valueEnd) === "trailers" ? "" : "connection-specific field";
    default:
      return "";
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 32 || byte === 9;
}
