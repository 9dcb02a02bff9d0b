/**
 * Encodes text for a header field, which contains bytes. Characters other than visible ASCII, and `%`, become
 * percent-encoded UTF-8.
 */
export function encodeText(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== percent
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

const percent = 0x25;

/**
 * Returns `value` unchanged, for fields without encoding. Throws `TypeError` for characters that they cannot contain.
 */
export function visibleText(name: string, value: string): string {
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(value)) return value;
  throw new TypeError(`"${name}" must be visible ASCII characters`);
}
