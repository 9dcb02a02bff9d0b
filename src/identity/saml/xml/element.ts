/** An XML document as `readXml` leaves it: parsed once, frozen, so that what was verified is what is read. */

export interface XmlElement {
  readonly prefix: string;
  readonly local: string;
  /** The URI that the prefix is bound to; empty for none. */
  readonly namespace: string;
  /** Without declarations of namespaces. */
  readonly attributes: readonly XmlAttribute[];
  /** Text next to text is one string; a text is never empty. */
  readonly children: readonly (XmlElement | string)[];
  readonly parent: XmlElement | undefined;
  /** The prefixes in scope. */
  readonly scope: XmlScope;
  /** Where its tag begins, in characters of the document with its line ends normalised. */
  readonly at: number;
}

export interface XmlAttribute {
  readonly prefix: string;
  readonly local: string;
  /** Empty without a prefix: the default namespace is none of attributes (Namespaces in XML §6.2). */
  readonly namespace: string;
  readonly value: string;
}

/** Prefixes declared on one element, and what is declared around it. The empty prefix is the default namespace. */
export interface XmlScope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer: XmlScope | undefined;
}

/** What a document or an element of it is not; the message says so without repeating its content. */
export class XmlIssue extends Error {}

/** The URI that a prefix is bound to; undefined when it is not. */
export function boundTo(prefix: string, scope: XmlScope): string | undefined {
  for (let at: XmlScope | undefined = scope; at; at = at.outer) {
    const uri = at.declared.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}

export function isNamed(element: XmlElement, namespace: string, local: string): boolean {
  return element.local === local && element.namespace === namespace;
}

/** The value of an attribute without a prefix. */
export function attributeOf(element: XmlElement, local: string): string | undefined {
  return element.attributes.find((one) => one.local === local && one.namespace === "")?.value;
}

/** The elements in an element of structure, between which nothing but white space may stand. */
export function elementsIn(element: XmlElement): readonly XmlElement[] {
  const found: XmlElement[] = [];
  for (const child of element.children) {
    if (typeof child !== "string") found.push(child);
    else if (!/^[ \t\r\n]*$/.test(child)) throw new XmlIssue(`${element.local} has text between its elements`);
  }
  return found;
}

/** The text of an element that holds nothing else. */
export function textIn(element: XmlElement): string {
  const [only = "", ...more] = element.children;
  if (typeof only !== "string" || more.length > 0) throw new XmlIssue(`${element.local} holds more than text`);
  return only;
}

/** The element and all within it, in the order of the document. */
export function* everyElement(from: XmlElement): Generator<XmlElement> {
  yield from;
  for (const child of from.children) if (typeof child !== "string") yield* everyElement(child);
}
