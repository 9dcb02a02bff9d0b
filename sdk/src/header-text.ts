/**
 * Text for a header field, which carries bytes: what is no visible ASCII is sent as percent-encoded UTF-8, and so
 * is `%` itself.
 */
export function encodeText(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== percent
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

const percent = 0x25;

/** `value` as it is, for fields whose text is not encoded. Throws `TypeError` for what they cannot carry. */
export function visibleText(name: string, value: string): string {
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(value)) return value;
  throw new TypeError(`"${name}" must be visible ASCII characters`);
}
