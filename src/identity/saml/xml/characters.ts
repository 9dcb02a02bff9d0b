/** The characters that XML 1.0 (5th edition, §2.2) admits. */
const foreign = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** True for text of which every character may stand in a document, as itself or as a reference. */
export function isXmlText(text: string): boolean {
  return !foreign.test(text);
}
