/** Quotes texts as values of header fields. */

/** Maximum size of a field line. */
const maxBytes = 1000;

/**
 * Returns a string according to RFC 8941 §3.3.3, so that lines can be joined and split again. Everything except visible
 * ASCII is percent-encoded.
 */
export function renderQuotedField(text: string): string {
  let encoded = "";
  for (const sign of text.toWellFormed().replaceAll("…", "...")) {
    const one = /[\x20-\x24\x26-\x7e]/.test(sign) ? sign.replace(/["\\]/, "\\$&") : encodeURIComponent(sign);
    if (encoded.length + one.length > maxBytes) return `"${encoded}..."`;
    encoded += one;
  }
  return `"${encoded}"`;
}
