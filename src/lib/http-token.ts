/** Whether a text is a token, as names of header fields and methods are (RFC 9110 §5.6.2). */
export function isHttpToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}
