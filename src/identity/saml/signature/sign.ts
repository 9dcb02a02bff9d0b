import { createPrivateKey, hash, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { Lru } from "../../../lib/collections/lru.ts";
import { ds } from "../names.ts";
import { canonical } from "../xml/canonical.ts";
import { attributeOf, isNamed } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { readXml } from "../xml/read.ts";
import { element } from "../xml/write.ts";
import type { Markup } from "../xml/write.ts";
import { enveloped, exclusiveC14n, ours } from "./algorithms.ts";

/** These messages are our own, so the limits only satisfy the reader's interface. */
const limits = { maxLength: 65_536, maxDepth: 16, maxElements: 200, maxAttributes: 32 };

const keys = new Lru<string, KeyObject>(1000);

/** Signs the bytes of `text` with RSA and SHA-256 (PKCS #1 v1.5). */
export function signRsaSha256(text: string, keyPem: string): Buffer {
  let key = keys.get(keyPem);
  if (!key) keys.set(keyPem, (key = createPrivateKey(keyPem)));
  return sign(ours.hash, Buffer.from(text), key);
}

/** Returns a message with the signature after its Issuer, as the SAML schema requires. */
export function signEnveloped(message: Markup, keyPem: string): Markup {
  const root = readXml(message.xml, limits);
  const digest = hash(ours.hash, canonical(root), "base64");
  const signedInfo = element(
    "ds:SignedInfo",
    {},
    element("ds:CanonicalizationMethod", { Algorithm: exclusiveC14n }),
    element("ds:SignatureMethod", { Algorithm: ours.signature }),
    element(
      "ds:Reference",
      { URI: `#${attributeOf(root, "ID")}` },
      element(
        "ds:Transforms",
        {},
        element("ds:Transform", { Algorithm: enveloped }),
        element("ds:Transform", { Algorithm: exclusiveC14n }),
      ),
      element("ds:DigestMethod", { Algorithm: ours.digest }),
      element("ds:DigestValue", {}, digest),
    ),
  );
  const unsigned = element("ds:Signature", { "xmlns:ds": ds }, signedInfo);
  const [toBeSigned] = readXml(unsigned.xml, limits).children as readonly XmlElement[];
  const value = signRsaSha256(canonical(toBeSigned as XmlElement), keyPem).toString("base64");
  const signature = element("ds:Signature", { "xmlns:ds": ds }, signedInfo, element("ds:SignatureValue", {}, value));
  const at = issuerEnd(message, root);
  return { xml: message.xml.slice(0, at) + signature.xml + message.xml.slice(at) };
}

function issuerEnd(message: Markup, root: XmlElement): number {
  const [issuer, next] = root.children as readonly XmlElement[];
  if (!issuer || issuer.local !== "Issuer" || isNamed(issuer, ds, "Signature"))
    throw new Error("the Issuer comes first");
  return next?.at ?? message.xml.lastIndexOf("</");
}
