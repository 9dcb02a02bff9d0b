/** Verifies enveloped XML signatures of one shape (I4). Other shapes are refused, not interpreted. */
import { hash, timingSafeEqual } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readBase64 } from "../base64.ts";
import { ds } from "../xml-names.ts";
import { canonicalize } from "../xml/canonical.ts";
import { attributeOf, elementsIn, isNamed, textIn, XmlIssue } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { digests, enveloped, exclusiveC14n, signatureAlgorithms } from "./xml-algorithms.ts";
import { verifiesWith } from "./signature-keys.ts";
import { UnknownKey } from "./unknown-key.ts";

const maxPrefixes = 32;

/**
 * Throws `XmlIssue` unless `signature` matches the profile, covers its whole parent except itself, and was made by one
 * of the keys. Keys inside the document are ignored.
 */
export function verifyEnveloped(signature: XmlElement, keys: readonly KeyObject[]): void {
  const [signedInfo, value, keyInfo, ...more] = elementsIn(signature);
  if (!signedInfo || !isNamed(signedInfo, ds, "SignedInfo")) throw new XmlIssue("the signature lacks its SignedInfo");
  if (!value || !isNamed(value, ds, "SignatureValue")) throw new XmlIssue("the signature lacks its SignatureValue");
  if (more.length > 0 || (keyInfo && !isNamed(keyInfo, ds, "KeyInfo"))) {
    throw new XmlIssue("the signature holds more than SignedInfo, SignatureValue and KeyInfo");
  }
  const [c14n, method, reference] = readChildren(signedInfo, [
    "CanonicalizationMethod",
    "SignatureMethod",
    "Reference",
  ]);
  const inclusive = readExclusive(c14n, "CanonicalizationMethod");
  const algorithm = readBareAlgorithm(method);
  if (!signatureAlgorithms.has(algorithm))
    throw new XmlIssue(`the signature's algorithm is not allowed: ${renderIdentifier(algorithm)}`);
  const bytes = readBase64(textIn(value));
  if (!bytes) throw new XmlIssue("the SignatureValue is not base64");
  const data = Buffer.from(canonicalize(signedInfo, { inclusive }));
  if (!verifiesWith(keys, algorithm, data, bytes)) {
    throw new UnknownKey("no certificate of the metadata verifies the signature");
  }
  // Checked last, so that an unsigned message does not cost a canonical form.
  checkDigest(reference, signature);
}

/** The reference leads to the parent by its ID, with exactly the two transforms. */
function checkDigest(reference: XmlElement, signature: XmlElement): void {
  const target = signature.parent as XmlElement;
  const id = attributeOf(target, "ID");
  if (!id || reference.attributes.length !== 1 || attributeOf(reference, "URI") !== `#${id}`) {
    throw new XmlIssue("the signature refers to another element than its parent");
  }
  const [transforms, method, value] = readChildren(reference, ["Transforms", "DigestMethod", "DigestValue"]);
  const [first, second] = readChildren(transforms, ["Transform", "Transform"]);
  if (readBareAlgorithm(first) !== enveloped)
    throw new XmlIssue("the signature's first transform is not the enveloped one");
  const inclusive = readExclusive(second, "second transform");
  const digest = digests.get(readBareAlgorithm(method));
  if (!digest)
    throw new XmlIssue(`the digest's algorithm is not allowed: ${renderIdentifier(readBareAlgorithm(method))}`);
  const claimed = readBase64(textIn(value));
  const made = hash(digest, canonicalize(target, { without: signature, inclusive }), "buffer");
  if (claimed?.length !== made.length || !timingSafeEqual(claimed, made)) {
    throw new XmlIssue("the signed content was changed: its digest differs");
  }
}

/** Exactly these children, from the signature namespace, in this order. */
function readChildren<const Names extends readonly string[]>(
  of: XmlElement,
  names: Names,
): { readonly [Name in keyof Names]: XmlElement } {
  const found = elementsIn(of);
  if (found.length !== names.length || !found.every((one, at) => isNamed(one, ds, names[at] as string))) {
    throw new XmlIssue(`${of.local} of the signature does not hold exactly ${names.join(", ")}`);
  }
  return found as unknown as { readonly [Name in keyof Names]: XmlElement };
}

/** The algorithm of an element without content or other attributes. */
function readBareAlgorithm(method: XmlElement): string {
  if (elementsIn(method).length > 0) throw new XmlIssue(`${method.local} of the signature has parameters`);
  return algorithmOf(method);
}

function algorithmOf(method: XmlElement): string {
  const algorithm = attributeOf(method, "Algorithm");
  if (algorithm === undefined || method.attributes.length !== 1) {
    throw new XmlIssue(`${method.local} of the signature has no Algorithm, or more than that`);
  }
  return algorithm;
}

/** Exclusive C14N, with the prefixes to treat as inclusive. */
function readExclusive(method: XmlElement, what: string): readonly string[] {
  if (algorithmOf(method) !== exclusiveC14n) throw new XmlIssue(`the signature's ${what} is not exclusive C14N`);
  const [list, ...more] = elementsIn(method);
  if (!list) return [];
  const prefixes = attributeOf(list, "PrefixList");
  const known = isNamed(list, exclusiveC14n, "InclusiveNamespaces") && list.attributes.length === 1;
  if (!known || prefixes === undefined || more.length > 0 || list.children.length > 0) {
    throw new XmlIssue(`the signature's ${what} has unknown parameters`);
  }
  const found = prefixes.split(" ").filter((one) => one !== "");
  if (found.length > maxPrefixes) throw new XmlIssue(`the signature's ${what} lists more than ${maxPrefixes} prefixes`);
  return found.map((one) => (one === "#default" ? "" : one));
}

function renderIdentifier(identifier: string): string {
  return JSON.stringify(identifier.slice(0, 100));
}
