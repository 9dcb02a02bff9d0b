/** Escapes text and attributes as canonical XML does (C14N 1.0 §2.3). Our own messages use the same form. */

const inText: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;" };
const inAttribute: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  '"': "&quot;",
  "\t": "&#x9;",
  "\n": "&#xA;",
  "\r": "&#xD;",
};

export function elementText(text: string): string {
  return /[&<>\r]/.test(text) ? text.replace(/[&<>\r]/g, (one) => inText[one] as string) : text;
}

export function attributeText(text: string): string {
  return /[&<"\t\n\r]/.test(text) ? text.replace(/[&<"\t\n\r]/g, (one) => inAttribute[one] as string) : text;
}
