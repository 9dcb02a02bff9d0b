import { createPrivateKey, hash, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { Lru } from "../../../lib/collections/lru.ts";
import { ds } from "../xml-names.ts";
import { canonicalize } from "../xml/canonical.ts";
import { attributeOf, isNamed } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { readXml } from "../xml/read-xml.ts";
import { writeElement } from "../xml/write.ts";
import type { Markup } from "../xml/write.ts";
import { enveloped, exclusiveC14n, ours } from "./xml-algorithms.ts";

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
  const digest = hash(ours.hash, canonicalize(root), "base64");
  const signedInfo = writeElement(
    "ds:SignedInfo",
    {},
    writeElement("ds:CanonicalizationMethod", { Algorithm: exclusiveC14n }),
    writeElement("ds:SignatureMethod", { Algorithm: ours.signature }),
    writeElement(
      "ds:Reference",
      { URI: `#${attributeOf(root, "ID")}` },
      writeElement(
        "ds:Transforms",
        {},
        writeElement("ds:Transform", { Algorithm: enveloped }),
        writeElement("ds:Transform", { Algorithm: exclusiveC14n }),
      ),
      writeElement("ds:DigestMethod", { Algorithm: ours.digest }),
      writeElement("ds:DigestValue", {}, digest),
    ),
  );
  const unsigned = writeElement("ds:Signature", { "xmlns:ds": ds }, signedInfo);
  const [toBeSigned] = readXml(unsigned.xml, limits).children as readonly XmlElement[];
  const value = signRsaSha256(canonicalize(toBeSigned as XmlElement), keyPem).toString("base64");
  const signature = writeElement(
    "ds:Signature",
    { "xmlns:ds": ds },
    signedInfo,
    writeElement("ds:SignatureValue", {}, value),
  );
  const at = issuerEnd(message, root);
  return { xml: message.xml.slice(0, at) + signature.xml + message.xml.slice(at) };
}

function issuerEnd(message: Markup, root: XmlElement): number {
  const [issuer, next] = root.children as readonly XmlElement[];
  if (!issuer || issuer.local !== "Issuer" || isNamed(issuer, ds, "Signature"))
    throw new Error("the Issuer comes first");
  return next?.at ?? message.xml.lastIndexOf("</");
}
