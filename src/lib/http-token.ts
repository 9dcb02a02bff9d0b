/** What may stand in a header field. As expressions these take a nanosecond or two for each character; loops take ten. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const fieldValue = /^(?![ \t])[\t\x20-\x7e\x80-\xff]*(?<![ \t])$/;

/** Whether a text is a token, as names of header fields and methods are (RFC 9110 §5.6.2). */
export function isHttpToken(text: string): boolean {
  return token.test(text);
}

/** Whether a text may be a field's value (RFC 9110 §5.5); spaces at its ends count as errors. */
export function isFieldValue(text: string): boolean {
  return fieldValue.test(text);
}
