/**
 * The bytes of base64 with padding, in which lines may end (RFC 2045 §6.8); undefined for any other spelling, so that
 * no two texts stand for the same bytes but by their lines.
 */
export function readBase64(text: string): Buffer | undefined {
  const packed = text.replace(/[ \t\r\n]+/g, "");
  if (packed === "" || packed.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(packed, "base64");
  return bytes.toString("base64") === packed ? bytes : undefined;
}
