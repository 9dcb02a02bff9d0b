/** Finds the length of a request without parsing it, to know where the next one starts. */

/** Longer heads are parsed. */
const maxHeadBytes = 8_192;
const maxDigits = 9;
const cr = 13;
const lf = 10;
/** Fields that determine how a request continues (RFC 9112 §6.3), or that it does not continue as HTTP. */
const contentLength = Buffer.from("content-length");
const transferEncoding = Buffer.from("transfer-encoding");
const upgrade = Buffer.from("upgrade:");
const connect = Buffer.from("connect");

/**
 * Length of the request's head and body, part of which may be in `bytes`. Returns -1 if the head is incomplete or must
 * be parsed: with a transfer coding, an upgrade, or CONNECT.
 */
export function requestLength(bytes: Buffer): number {
  if (startsWith(bytes, 0, connect)) return -1;
  const last = Math.min(bytes.length, maxHeadBytes) - 1;
  let bodyLength = -1;
  // Scans bytes instead of a string, which would be as large as the head and need collection.
  for (let at = 0; at < last; at += 1) {
    if (bytes[at] !== lf || bytes[at - 1] !== cr) continue;
    const first = bytes[at + 1] as number;
    if (first === cr) {
      if (bytes[at + 2] === lf && at + 2 <= last) return at + 3 + Math.max(0, bodyLength);
    } else if (isSuspect[first] === 1) {
      if (startsWith(bytes, at + 1, transferEncoding) || startsWith(bytes, at + 1, upgrade)) return -1;
      if (!startsWith(bytes, at + 1, contentLength)) continue;
      // The parser decides about several lengths, and about invalid ones.
      const length = bodyLength < 0 ? lengthAt(bytes, at + 1 + contentLength.length) : -1;
      if (length < 0) return -1;
      bodyLength = length;
    }
  }
  return -1;
}

/** Indexed by the first byte of a line: whether the line may be one of those fields. */
const isSuspect = new Uint8Array(256);
for (const letter of Buffer.from("CTUctu")) isSuspect[letter] = 1;

/** @param name lower case */
function startsWith(bytes: Buffer, from: number, name: Buffer): boolean {
  for (let at = 0; at < name.length; at += 1) if (((bytes[from + at] as number) | 32) !== name[at]) return false;
  return true;
}

/** Parses the number after a name. Returns -1 unless it has the usual form. */
function lengthAt(bytes: Buffer, colon: number): number {
  if (bytes[colon] !== 58) return -1;
  let at = colon + 1;
  while (bytes[at] === 32) at += 1;
  const from = at;
  let length = 0;
  for (let digit = bytes[at] as number; digit >= 48 && digit <= 57; digit = bytes[at] as number) {
    length = length * 10 + digit - 48;
    at += 1;
  }
  return at > from && at - from <= maxDigits && bytes[at] === cr ? length : -1;
}
