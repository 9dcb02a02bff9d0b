/**
 * xml-crypto and its DOM: an independent implementation of XML signatures. Loaded without its types, which would add
 * the types of browsers to the whole project.
 */
import { createRequire } from "node:module";

export interface DomNode {
  readonly nodeType: number;
  readonly firstChild: DomNode | null;
  readonly nextSibling: DomNode | null;
  readonly parentNode: DomNode | null;
}

export interface DomElement extends DomNode {
  readonly localName: string;
  readonly namespaceURI: string | null;
  readonly attributes: { readonly length: number; readonly [index: number]: DomAttribute };
  /** Returns "" if the attribute is missing. */
  getAttribute(name: string): string;
  setAttribute(name: string, value: string): void;
}

export interface DomAttribute {
  readonly name: string;
  readonly value: string;
}

interface Canonicalization {
  process(element: DomElement, options: object): string;
}

interface SignedXmlMade {
  getKeyInfoContent: () => string | null;
  readonly SignatureAlgorithms: Record<string, unknown>;
  enableHMAC(): void;
  addReference(reference: object): void;
  computeSignature(xml: string, options: object): void;
  getSignedXml(): string;
  loadSignature(signature: DomElement): void;
  checkSignature(xml: string): boolean;
}

const require = createRequire(import.meta.url);

export const { SignedXml, ExclusiveCanonicalization } = require("xml-crypto") as {
  readonly SignedXml: new (options: object) => SignedXmlMade;
  readonly ExclusiveCanonicalization: new () => Canonicalization;
};

const { DOMParser } = require("@xmldom/xmldom") as {
  readonly DOMParser: new () => {
    parseFromString(xml: string, type: string): { readonly documentElement: DomElement };
  };
};

export function parseDom(xml: string): DomElement {
  return new DOMParser().parseFromString(xml, "text/xml").documentElement;
}

export function* everyNode(from: DomElement): Generator<DomElement> {
  yield from;
  for (let child = from.firstChild; child; child = child.nextSibling) {
    if (child.nodeType === 1) yield* everyNode(child as DomElement);
  }
}

/** Returns the first element with the name. */
export function findDom(xml: string, local: string): DomElement {
  const found = [...everyNode(parseDom(xml))].find((one) => one.localName === local);
  if (!found) throw new Error(`there is no ${local}`);
  return found;
}

/** Returns xml-crypto's canonical form of an element. May change the element. */
export function oracle(element: DomElement, prefixes: readonly string[] = []): string {
  return new ExclusiveCanonicalization().process(element, {
    inclusiveNamespacesPrefixList: [...prefixes],
    ancestorNamespaces: namespacesAround(element),
  });
}

/** Returns the prefixes around an element in the form for xml-crypto: those that the element does not redeclare. */
function namespacesAround(element: DomElement): { prefix: string; namespaceURI: string }[] {
  const found: { prefix: string; namespaceURI: string }[] = [];
  for (let at = element.parentNode as DomElement | null; at?.attributes; at = at.parentNode as DomElement | null) {
    for (let index = 0; index < at.attributes.length; index += 1) {
      const { name, value } = at.attributes[index] as DomAttribute;
      if (
        element.getAttribute(name) === "" &&
        name.startsWith("xmlns:") &&
        !found.some(({ prefix }) => prefix === name.slice(6))
      ) {
        found.push({ prefix: name.slice(6), namespaceURI: value });
      }
    }
  }
  return found;
}
