/** Character classes of RFC 9110 §5.6 and RFC 9112 §3.2 as one lookup per byte. */

/** Allowed in a token (field names, methods). */
export const tokenByte = 1;
/** Allowed in a token, but not a letter, digit or "-". */
export const oddTokenByte = 2;
/** Allowed in a field value: HTAB, SP, visible ASCII, 0x80–0xFF. */
export const valueByte = 4;
/** Allowed in a request target: visible ASCII without "#". */
export const targetByte = 8;

export const byteClass = new Uint8Array(256);
/** Value of a hexadecimal digit, otherwise 255. */
export const hexValue = new Uint8Array(256).fill(255);
/** ASCII lower case. */
export const lowerByte = new Uint8Array(256);

for (let byte = 0; byte < 256; byte += 1) {
  const text = String.fromCharCode(byte);
  const plain = /[0-9A-Za-z-]/.test(text);
  const token = plain || /[!#$%&'*+.^_`|~]/.test(text);
  byteClass[byte] =
    (token ? tokenByte : 0) |
    (token && !plain ? oddTokenByte : 0) |
    (byte === 9 || (byte >= 32 && byte !== 127) ? valueByte : 0) |
    (byte > 32 && byte < 127 && text !== "#" ? targetByte : 0);
  lowerByte[byte] = byte >= 65 && byte <= 90 ? byte + 32 : byte;
  if (/[0-9A-Fa-f]/.test(text)) hexValue[byte] = Number.parseInt(text, 16);
}

export const cr = 13;
export const lf = 10;
export const space = 32;
export const tab = 9;
export const colon = 58;
export const semicolon = 59;
export const comma = 44;

/** Whether the bytes equal `text` (lower case), ignoring case. */
export function equalsText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let at = 0; at < text.length; at += 1) {
    if (lowerByte[bytes[start + at] as number] !== text.charCodeAt(at)) return false;
  }
  return true;
}
