/**
 * Decodes padded base64 with optional line breaks (RFC 2045 §6.8). Returns undefined for any other spelling, so that
 * two texts that differ in more than line breaks never decode to the same bytes.
 */
export function readBase64(text: string): Buffer | undefined {
  const packed = text.replace(/[ \t\r\n]+/g, "");
  if (packed === "" || packed.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(packed, "base64");
  return bytes.toString("base64") === packed ? bytes : undefined;
}
