import { isXmlText } from "./characters.ts";
import { XmlIssue } from "./element.ts";
import { attributeText, elementText } from "./escape.ts";

/** XML that is already written, as opposed to text that must be escaped. */
export interface Markup {
  readonly xml: string;
}

type Attributes = Readonly<Record<string, string | undefined>>;

/**
 * Writes one element. Undefined attributes and children are omitted. Names come from code, never from a visitor. Throws
 * `XmlIssue` for text that XML cannot contain.
 */
export function writeElement(
  name: string,
  attributes: Attributes,
  ...children: readonly (Markup | string | undefined)[]
): Markup {
  let xml = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) xml += ` ${key}="${attributeText(requireXmlText(value))}"`;
  }
  xml += ">";
  for (const child of children) {
    if (child !== undefined) xml += typeof child === "string" ? elementText(requireXmlText(child)) : child.xml;
  }
  return { xml: `${xml}</${name}>` };
}

function requireXmlText(text: string): string {
  if (!isXmlText(text)) throw new XmlIssue("has a character that XML does not admit");
  return text;
}
