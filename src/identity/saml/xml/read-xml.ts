/**
 * A strict reader of the subset of XML 1.0 with namespaces that SAML needs (I4): no DOCTYPE, hence only the five
 * predefined entities; no comments, CDATA sections or processing instructions, which readers interpret differently.
 * Names are ASCII. Every XML reader accepts and understands in the same way what this one accepts.
 */
import { isXmlText } from "./characters.ts";
import { resolvePrefix, XmlIssue } from "./element.ts";
import type { XmlAttribute, XmlElement, XmlScope } from "./element.ts";

export interface XmlLimits {
  /** Maximum length, characters. */
  readonly maxLength: number;
  readonly maxDepth: number;
  readonly maxElements: number;
  /** Maximum per element, including namespace declarations. */
  readonly maxAttributes: number;
  /** Whether to skip comments instead of refusing them, for metadata edited by hand. */
  readonly skipComments?: true;
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace";
const xmlnsNamespace = "http://www.w3.org/2000/xmlns/";
const declaration =
  /^<\?xml[ \t\n]+version[ \t\n]*=[ \t\n]*(?:"1\.0"|'1\.0')(?:[ \t\n]+encoding[ \t\n]*=[ \t\n]*(?:"[Uu][Tt][Ff]-8"|'[Uu][Tt][Ff]-8'))?(?:[ \t\n]+standalone[ \t\n]*=[ \t\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\n]*\?>/;
const qualifiedName = /(?:([A-Za-z_][\w.-]{0,127}):)?([A-Za-z_][\w.-]{0,127})/y;
const space = /[ \t\n]*/y;
const reference = /&(?:(lt|gt|amp|apos|quot)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));/y;
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", apos: "'", quot: '"' };

/** An element whose end tag has not been read yet. */
interface Open {
  readonly element: XmlElement;
  readonly tag: string;
  readonly children: (XmlElement | string)[];
}

interface RawAttribute {
  readonly prefix: string;
  readonly local: string;
  readonly value: string;
}

const outermost: XmlScope = { declared: new Map([["xml", xmlNamespace]]), outer: undefined };

/**
 * Reads one document. Throws `XmlIssue` for anything that is not well-formed XML within the limits, for unbound
 * prefixes, repeated attributes, and an ID on two elements.
 */
export function readXml(source: string, limits: XmlLimits): XmlElement {
  if (source.length > limits.maxLength) throw new XmlIssue(`is longer than ${limits.maxLength} characters`);
  if (!isXmlText(source)) throw new XmlIssue("has a character that XML does not admit");
  return new Reader(source.replace(/\r\n?/g, "\n"), limits).document();
}

class Reader {
  readonly #text: string;
  readonly #limits: XmlLimits;
  readonly #open: Open[] = [];
  readonly #ids = new Set<string>();
  #elements = 0;
  #at = 0;

  constructor(text: string, limits: XmlLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  document(): XmlElement {
    this.#at = declaration.exec(this.#text)?.[0].length ?? 0;
    this.#between();
    if (this.#text[this.#at] !== "<") throw this.#issue("does not begin with an element");
    const root = this.#startTag();
    while (this.#open.length > 0) this.#content();
    this.#between();
    if (this.#at < this.#text.length) throw this.#issue("goes on after its element");
    return root;
  }

  /** Skips white space, and comments if configured. */
  #between(): void {
    do {
      space.lastIndex = this.#at;
      this.#at += space.exec(this.#text)?.[0].length ?? 0;
    } while (this.#comment());
  }

  #comment(): boolean {
    if (!this.#limits.skipComments || !this.#text.startsWith("<!--", this.#at)) return false;
    const end = this.#text.indexOf("--", this.#at + 4);
    if (end < 0 || this.#text[end + 2] !== ">") throw this.#issue("has a comment without an end");
    this.#at = end + 3;
    return true;
  }

  /** Reads text up to the next tag, and that tag. */
  #content(): void {
    const { children } = this.#open.at(-1) as Open;
    const end = this.#text.indexOf("<", this.#at);
    if (end < 0) throw this.#issue("ends before its element does");
    if (end > this.#at) {
      const raw = this.#text.slice(this.#at, end);
      if (raw.includes("]]>")) throw this.#issue("has ]]> in a text");
      const text = this.#resolve(raw);
      if (typeof children.at(-1) === "string") children.push((children.pop() as string) + text);
      else children.push(text);
      this.#at = end;
    }
    if (this.#text[end + 1] === "/") this.#endTag();
    else if (!this.#comment()) this.#startTag();
  }

  #startTag(): XmlElement {
    const at = this.#at;
    const next = this.#text[at + 1];
    if (next === "!") throw this.#issue("has a DOCTYPE, a comment or a CDATA section");
    if (next === "?") throw this.#issue("has a processing instruction");
    if ((this.#elements += 1) > this.#limits.maxElements) {
      throw this.#issue(`has more than ${this.#limits.maxElements} elements`);
    }
    if (this.#open.length === this.#limits.maxDepth) throw this.#issue(`is deeper than ${this.#limits.maxDepth}`);
    this.#at += 1;
    const name = this.#name();
    const { attributes, declared } = this.#attributes();
    const parent = this.#open.at(-1);
    const outer = parent?.element.scope ?? outermost;
    const scope = declared ? { declared, outer } : outer;
    const children: (XmlElement | string)[] = [];
    const element: XmlElement = Object.freeze({
      prefix: name.prefix,
      local: name.local,
      namespace: this.#bound(name.prefix, scope),
      attributes: Object.freeze(this.#qualified(attributes, scope)),
      children,
      parent: parent?.element,
      scope,
      at,
    });
    parent?.children.push(element);
    if (this.#text.startsWith("/>", this.#at)) {
      Object.freeze(children);
      this.#at += 2;
    } else {
      this.#expect(">");
      this.#open.push({ element, tag: name.tag, children });
    }
    return element;
  }

  #endTag(): void {
    this.#at += 2;
    const { tag } = this.#name();
    space.lastIndex = this.#at;
    this.#at += space.exec(this.#text)?.[0].length ?? 0;
    this.#expect(">");
    const closed = this.#open.pop();
    if (closed?.tag !== tag) throw this.#issue("has an end tag that closes another element");
    Object.freeze(closed.children);
  }

  /** Reads attributes without resolving namespaces, and the prefixes that the element declares. */
  #attributes(): { readonly attributes: readonly RawAttribute[]; readonly declared: Map<string, string> | undefined } {
    const attributes: RawAttribute[] = [];
    let declared: Map<string, string> | undefined;
    for (let count = 0; ; count += 1) {
      space.lastIndex = this.#at;
      const gap = space.exec(this.#text)?.[0].length ?? 0;
      this.#at += gap;
      const next = this.#text[this.#at];
      if (next === ">" || next === "/") return { attributes, declared };
      if (gap === 0) throw this.#issue("has attributes without white space between");
      if (count === this.#limits.maxAttributes) {
        throw this.#issue(`has an element of more than ${this.#limits.maxAttributes} attributes`);
      }
      const { prefix, local, tag } = this.#name();
      const value = this.#value();
      if (prefix === "xmlns" || tag === "xmlns") {
        const bound = tag === "xmlns" ? "" : local;
        declared ??= new Map();
        if (declared.has(bound)) throw this.#issue("declares a prefix twice on one element");
        declared.set(bound, this.#declarable(bound, value));
      } else attributes.push({ prefix, local, value });
    }
  }

  /** Namespaces in XML §3: `xml` and `xmlns` must not be declared, and a prefix must not be undeclared. */
  #declarable(prefix: string, uri: string): string {
    const reserved = prefix === "xml" || prefix === "xmlns" || uri === xmlNamespace || uri === xmlnsNamespace;
    if (reserved || (prefix !== "" && uri === "")) throw this.#issue("declares a prefix that it may not");
    return uri;
  }

  #qualified(attributes: readonly RawAttribute[], scope: XmlScope): XmlAttribute[] {
    const found: XmlAttribute[] = [];
    for (const { prefix, local, value } of attributes) {
      const namespace = prefix === "" ? "" : this.#bound(prefix, scope);
      // There are few attributes: comparing all pairs is cheaper than a set of names.
      for (const one of found) {
        if (one.local === local && one.namespace === namespace) throw this.#issue("has an attribute twice");
      }
      if (local.length === 2 && local.toLowerCase() === "id") {
        if (this.#ids.has(value)) throw this.#issue("has the same ID twice");
        this.#ids.add(value);
      }
      found.push(Object.freeze({ prefix, local, namespace, value }));
    }
    return found;
  }

  #bound(prefix: string, scope: XmlScope): string {
    const uri = resolvePrefix(prefix, scope);
    if (uri === undefined && prefix !== "") throw this.#issue("has a prefix that is not bound");
    return uri ?? "";
  }

  #name(): { readonly prefix: string; readonly local: string; readonly tag: string } {
    qualifiedName.lastIndex = this.#at;
    const found = qualifiedName.exec(this.#text);
    if (!found) throw this.#issue("has a name that cannot be read");
    this.#at += found[0].length;
    return { prefix: found[1] ?? "", local: found[2] as string, tag: found[0] };
  }

  #value(): string {
    space.lastIndex = this.#at;
    this.#at += space.exec(this.#text)?.[0].length ?? 0;
    this.#expect("=");
    space.lastIndex = this.#at;
    this.#at += space.exec(this.#text)?.[0].length ?? 0;
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") throw this.#issue("has an attribute without quotes");
    const end = this.#text.indexOf(quote, this.#at + 1);
    if (end < 0) throw this.#issue("ends within an attribute");
    const raw = this.#text.slice(this.#at + 1, end);
    if (raw.includes("<")) throw this.#issue("has < in an attribute");
    this.#at = end + 1;
    // XML §3.3.3: literal white space becomes a space, references are preserved.
    return this.#resolve(raw.replace(/[\t\n]/g, " "));
  }

  /** Replaces references. Each is replaced once, and its replacement is not scanned again. */
  #resolve(raw: string): string {
    let from = raw.indexOf("&");
    if (from < 0) return raw;
    let text = "";
    for (let done = 0; ; from = raw.indexOf("&", done)) {
      if (from < 0) return text + raw.slice(done);
      reference.lastIndex = from;
      const found = reference.exec(raw);
      if (!found) throw this.#issue("has an entity that is not one of the five, or a bare &");
      const [whole, entity, decimal, hex] = found;
      text += raw.slice(done, from);
      text += entity ? (entities[entity] as string) : this.#character(decimal, hex);
      done = from + whole.length;
    }
  }

  #character(decimal: string | undefined, hex: string | undefined): string {
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    const character = code <= 0x10ffff ? String.fromCodePoint(code) : "\0";
    if (!isXmlText(character)) throw this.#issue("refers to a character that XML does not admit");
    return character;
  }

  #expect(text: string): void {
    if (!this.#text.startsWith(text, this.#at)) throw this.#issue(`lacks a ${text}`);
    this.#at += text.length;
  }

  #issue(what: string): XmlIssue {
    return new XmlIssue(`${what}, at character ${this.#at}`);
  }
}
