/** Characters that XML 1.0 allows (5th edition, §2.2). */
const foreign = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** Whether every character of the text is allowed in a document, literally or as a reference. */
export function isXmlText(text: string): boolean {
  return !foreign.test(text);
}
