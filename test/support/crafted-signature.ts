/**
 * Genuine signatures of any shape. Digests match the referenced elements, and values match SignedInfo. They are made
 * with the provider's key on xml-crypto's canonical form.
 */
import { createHash, createSign } from "node:crypto";
import { algorithms } from "./saml-idp.ts";
import { findDom, oracle } from "./xml-crypto.ts";

export interface Shape {
  readonly uri?: string;
  readonly c14n?: string;
  readonly method?: string;
  readonly transforms?: string;
  readonly digestMethod?: string;
  readonly digest?: string;
  /** Content between SignatureMethod and Reference, and after Reference. */
  readonly before?: string;
  readonly after?: string;
  /** The PrefixList of the second transform. */
  readonly prefixes?: readonly string[];
  readonly hash?: string;
  readonly signature?: (signedInfo: string, value: string) => string;
  readonly sign?: (canonical: string) => string;
}

const dsig = 'xmlns:ds="http://www.w3.org/2000/09/xmldsig#"';
export const transform = (algorithm: string, inside = ""): string =>
  `<ds:Transform Algorithm="${algorithm}">${inside}</ds:Transform>`;
const prefixList = (prefixes: readonly string[]): string =>
  `<ec:InclusiveNamespaces xmlns:ec="${algorithms.exclusive}" PrefixList="${prefixes.join(" ")}"/>`;

/** Inserts a signature after the Issuer of the first element with this name. */
export function craft(xml: string, local: string, key: string, shape: Shape = {}): string {
  const element = findDom(xml, local);
  const id = element.getAttribute("ID");
  const { hash = "sha256", prefixes = [] } = shape;
  const digest = shape.digest ?? createHash(hash).update(oracle(element, prefixes)).digest("base64");
  const signedInfo = `<ds:SignedInfo>${shape.c14n ?? `<ds:CanonicalizationMethod Algorithm="${algorithms.exclusive}"/>`}${
    shape.method ?? `<ds:SignatureMethod Algorithm="${algorithms.rsaSha256}"/>`
  }${shape.before ?? ""}<ds:Reference URI="${shape.uri ?? `#${id}`}"><ds:Transforms>${
    shape.transforms ??
    transform(algorithms.enveloped) + transform(algorithms.exclusive, prefixes.length > 0 ? prefixList(prefixes) : "")
  }</ds:Transforms>${
    shape.digestMethod ?? `<ds:DigestMethod Algorithm="${algorithms.sha256}"/>`
  }<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>${shape.after ?? ""}</ds:SignedInfo>`;
  const canonical = oracle(findDom(`<ds:Signature ${dsig}>${signedInfo}</ds:Signature>`, "SignedInfo"));
  const value = shape.sign?.(canonical) ?? createSign(hash).update(canonical).sign(key, "base64");
  const made = shape.signature?.(signedInfo, value) ?? `${signedInfo}<ds:SignatureValue>${value}</ds:SignatureValue>`;
  const start = xml.search(new RegExp(`<(?:\\w+:)?${local}[ >]`));
  const issuer = xml.indexOf("</saml:Issuer>", start) + "</saml:Issuer>".length;
  return `${xml.slice(0, issuer)}<ds:Signature ${dsig}>${made}</ds:Signature>${xml.slice(issuer)}`;
}
