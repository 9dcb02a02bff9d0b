/** A parsed XML document. It is parsed once and frozen, so that the verified content is the content that is read. */

export interface XmlElement {
  readonly prefix: string;
  readonly local: string;
  /** URI of the prefix; empty if there is none. */
  readonly namespace: string;
  /** Without namespace declarations. */
  readonly attributes: readonly XmlAttribute[];
  /** Adjacent texts are one string. A text is never empty. */
  readonly children: readonly (XmlElement | string)[];
  readonly parent: XmlElement | undefined;
  /** The prefixes in scope. */
  readonly scope: XmlScope;
  /** Position of its tag, in characters of the document with normalized line ends. */
  readonly at: number;
}

export interface XmlAttribute {
  readonly prefix: string;
  readonly local: string;
  /** Empty without a prefix: the default namespace does not apply to attributes (Namespaces in XML §6.2). */
  readonly namespace: string;
  readonly value: string;
}

/** Prefixes declared on one element, and the enclosing scope. The empty prefix is the default namespace. */
export interface XmlScope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer: XmlScope | undefined;
}

/** A document or element violates a requirement. The message does not repeat its content. */
export class XmlIssue extends Error {}

/** Returns the URI of a prefix, or undefined if it is not bound. */
export function resolvePrefix(prefix: string, scope: XmlScope): string | undefined {
  for (let at: XmlScope | undefined = scope; at; at = at.outer) {
    const uri = at.declared.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}

export function isNamed(element: XmlElement, namespace: string, local: string): boolean {
  return element.local === local && element.namespace === namespace;
}

/** Returns the value of an attribute without prefix. */
export function attributeOf(element: XmlElement, local: string): string | undefined {
  return element.attributes.find((one) => one.local === local && one.namespace === "")?.value;
}

/** Returns the child elements of an element that may otherwise contain only white space. */
export function elementsIn(element: XmlElement): readonly XmlElement[] {
  const found: XmlElement[] = [];
  for (const child of element.children) {
    if (typeof child !== "string") found.push(child);
    else if (!/^[ \t\r\n]*$/.test(child)) throw new XmlIssue(`${element.local} has text between its elements`);
  }
  return found;
}

/** Returns the text of an element that contains nothing else. */
export function textIn(element: XmlElement): string {
  const [only = "", ...more] = element.children;
  if (typeof only !== "string" || more.length > 0) throw new XmlIssue(`${element.local} holds more than text`);
  return only;
}

/** Yields the element and all elements inside it, in document order. */
export function* walkElements(from: XmlElement): Generator<XmlElement> {
  yield from;
  for (const child of from.children) if (typeof child !== "string") yield* walkElements(child);
}
