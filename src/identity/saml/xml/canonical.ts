/** Exclusive XML Canonicalization 1.0 without comments (https://www.w3.org/TR/xml-exc-c14n/). */
import { resolvePrefix } from "./element.ts";
import type { XmlAttribute, XmlElement } from "./element.ts";
import { attributeText, elementText } from "./escape.ts";

export interface CanonicalOptions {
  /** Omitted with its content: the enveloped signature. */
  readonly without?: XmlElement | undefined;
  /** The PrefixList of InclusiveNamespaces. The empty prefix stands for `#default`. */
  readonly inclusive?: readonly string[];
}

/** Prefixes that the output declares around an element. */
type Rendered = ReadonlyMap<string, string>;

const nothing: Rendered = new Map();

/** Returns the canonical form of an element, whose UTF-8 bytes are digested. */
export function canonicalize(element: XmlElement, { without, inclusive = [] }: CanonicalOptions = {}): string {
  const render = (one: XmlElement, rendered: Rendered): string => {
    const tag = one.prefix === "" ? one.local : `${one.prefix}:${one.local}`;
    let output = `<${tag}`;
    let inside = rendered;
    for (const [prefix, uri] of newDeclarations(one, inclusive, rendered)) {
      if (inside === rendered) inside = new Map(rendered);
      (inside as Map<string, string>).set(prefix, uri);
      output += ` xmlns${prefix === "" ? "" : ":"}${prefix}="${attributeText(uri)}"`;
    }
    const { attributes } = one;
    for (const { prefix, local, value } of attributes.length > 1 ? attributes.toSorted(inOrder) : attributes) {
      output += ` ${prefix === "" ? local : `${prefix}:${local}`}="${attributeText(value)}"`;
    }
    output += ">";
    for (const child of one.children) {
      if (typeof child === "string") output += elementText(child);
      else if (child !== without) output += render(child, inside);
    }
    return `${output}</${tag}>`;
  };
  return render(element, nothing);
}

/** §3: prefixes that the element visibly uses or the list names, unless the output has the same binding in scope. */
function newDeclarations(one: XmlElement, inclusive: readonly string[], rendered: Rendered): [string, string][] {
  const used = new Set([one.prefix, ...inclusive]);
  for (const { prefix } of one.attributes) if (prefix !== "") used.add(prefix);
  used.delete("xml");
  const found: [string, string][] = [];
  for (const prefix of used) {
    // Without a binding: only the default namespace, or a listed prefix that is not in scope.
    const uri = resolvePrefix(prefix, one.scope) ?? "";
    if ((rendered.get(prefix) ?? "") !== uri) found.push([prefix, uri]);
  }
  return found.length > 1 ? found.sort(([a], [b]) => (a < b ? -1 : 1)) : found;
}

/** By namespace, then by local name. Attributes without namespace come first. */
function inOrder(a: XmlAttribute, b: XmlAttribute): number {
  return byCodePoint(a.namespace, b.namespace) || byCodePoint(a.local, b.local);
}

/** UTF-8 sorts like code points, UTF-16 does not. */
function byCodePoint(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}
