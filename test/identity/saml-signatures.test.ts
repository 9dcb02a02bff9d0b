/** Genuine signatures that do not have the one accepted shape. */
import assert from "node:assert/strict";
import { createHash, createHmac, createSign } from "node:crypto";
import { describe, it } from "node:test";
import { craft, transform } from "../support/crafted-signature.ts";
import type { Shape } from "../support/crafted-signature.ts";
import { algorithms, derOf, makeProviderKeys, responseXml, signXml } from "../support/saml-idp.ts";
import { bring, honest, metadataOf, told } from "../support/saml-login.ts";
import { findDom, oracle } from "../support/xml-crypto.ts";

const keys = await makeProviderKeys();
const elliptic = await makeProviderKeys("ec");
const attacker = await makeProviderKeys();
const idp = metadataOf(keys, elliptic);

const method = (algorithm: string, inside = "") =>
  `<ds:SignatureMethod Algorithm="${algorithm}">${inside}</ds:SignatureMethod>`;
const c14n = (algorithm: string, inside = "") =>
  `<ds:CanonicalizationMethod Algorithm="${algorithm}">${inside}</ds:CanonicalizationMethod>`;
const digestMethod = (algorithm: string, inside = "") =>
  `<ds:DigestMethod Algorithm="${algorithm}">${inside}</ds:DigestMethod>`;
const both = transform(algorithms.enveloped) + transform(algorithms.exclusive);
const list = (prefixes: string, more = "") =>
  `<ec:InclusiveNamespaces xmlns:ec="${algorithms.exclusive}" PrefixList="${prefixes}"${more}/>`;
const more = "http://www.w3.org/2001/04/xmldsig-more#";
const sha1Digest = createHash("sha1")
  .update(oracle(findDom(responseXml(honest()), "Assertion")))
  .digest("base64");
const hmac = (hash: string, key: string | Buffer) => (text: string) =>
  createHmac(hash, key).update(text).digest("base64");
const value = (text: string) => `<ds:SignatureValue>${text}</ds:SignatureValue>`;
const reference = `<ds:Reference URI="#_response-1"><ds:Transforms>${both}</ds:Transforms>${digestMethod(
  algorithms.sha256,
)}<ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>`;
const der = Buffer.from(derOf(keys.certificatePem), "base64");

const shapes: Readonly<Record<string, Shape>> = {
  "rsa-sha1": {
    method: method(algorithms.rsaSha1),
    sign: (text) => createSign("sha1").update(text).sign(keys.keyPem, "base64"),
  },
  "rsa-sha1 by name, SHA-256 in fact": { method: method(algorithms.rsaSha1) },
  "rsa-md5": { method: method(`${more}rsa-md5`) },
  "rsa-sha512 by name, SHA-256 in fact": { method: method(algorithms.rsaSha512) },
  "ecdsa by name, RSA in fact": { method: method(algorithms.ecdsaSha256) },
  "RSA by name, ECDSA in fact": {
    sign: (text) =>
      createSign("sha256").update(text).sign({ key: elliptic.keyPem, dsaEncoding: "ieee-p1363" }, "base64"),
  },
  "ECDSA in DER": {
    method: method(algorithms.ecdsaSha256),
    sign: (text) => createSign("sha256").update(text).sign(elliptic.keyPem, "base64"),
  },
  "HMAC with the certificate": {
    method: method(algorithms.hmacSha1),
    sign: hmac("sha1", keys.certificatePem),
  },
  "HMAC with SHA-256 and the certificate's bytes": { method: method(`${more}hmac-sha256`), sign: hmac("sha256", der) },
  "HMAC of no length": {
    method: method(`${more}hmac-sha256`, "<ds:HMACOutputLength>0</ds:HMACOutputLength>"),
    sign: () => "",
  },
  "no algorithm": { method: "<ds:SignatureMethod/>" },
  "an empty algorithm": { method: method("") },
  none: { method: method("none"), sign: () => "" },
  "a signature method with parameters": { method: method(algorithms.rsaSha256, list("a")) },
  "a signature method with another attribute": {
    method: `<ds:SignatureMethod Algorithm="${algorithms.rsaSha256}" Id="i"/>`,
  },
  "two signature methods": { before: method(algorithms.rsaSha256) },
  "a digest by SHA-1": { digestMethod: digestMethod(algorithms.sha1), digest: sha1Digest },
  "a digest by MD5": { digestMethod: digestMethod(`${more}md5`) },
  "a digest method with parameters": { digestMethod: digestMethod(algorithms.sha256, list("a")) },
  "a digest of something else": { digest: createHash("sha256").update("else").digest("base64") },
  "no digest": { digest: "" },
  "a digest that is not base64": { digest: "=AAA" },
  "inclusive C14N of SignedInfo": { c14n: c14n(algorithms.inclusive) },
  "C14N of SignedInfo with comments": { c14n: c14n(algorithms.exclusiveWithComments) },
  "C14N of SignedInfo with unknown parameters": { c14n: c14n(algorithms.exclusive, "<ds:Object/>") },
  "C14N of SignedInfo with two lists": { c14n: c14n(algorithms.exclusive, list("a") + list("b")) },
  "a list with another attribute": { c14n: c14n(algorithms.exclusive, list("a", ' Id="i"')) },
  "a list of 33 prefixes": {
    c14n: c14n(algorithms.exclusive, list(Array.from({ length: 33 }, (_, at) => `p${at}`).join(" "))),
  },
  "no transform": { transforms: "" },
  "the enveloped transform alone": { transforms: transform(algorithms.enveloped) },
  "C14N alone": { transforms: transform(algorithms.exclusive) },
  "the transforms in reverse order": {
    transforms: transform(algorithms.exclusive) + transform(algorithms.enveloped),
  },
  "a transform twice": { transforms: both + transform(algorithms.exclusive) },
  "a thousand transforms": { transforms: both + transform(algorithms.exclusive).repeat(1000) },
  "inclusive C14N": { transforms: transform(algorithms.enveloped) + transform(algorithms.inclusive) },
  "C14N with comments": { transforms: transform(algorithms.enveloped) + transform(algorithms.exclusiveWithComments) },
  XSLT: {
    transforms: both + transform("http://www.w3.org/TR/1999/REC-xslt-19991116", '<x xmlns="urn:x"/>'),
  },
  "XSLT instead": {
    transforms: transform(algorithms.enveloped) + transform("http://www.w3.org/TR/1999/REC-xslt-19991116"),
  },
  XPath: {
    transforms: transform("http://www.w3.org/TR/1999/REC-xpath-19991116", "<ds:XPath>1</ds:XPath>") + both,
  },
  base64: { transforms: transform(algorithms.enveloped) + transform("http://www.w3.org/2000/09/xmldsig#base64") },
  "the enveloped transform with parameters": {
    transforms: transform(algorithms.enveloped, list("a")) + transform(algorithms.exclusive),
  },
  "a second reference": { after: reference },
  "another reference first": { before: reference },
  "a reference to the Response": { uri: "#_response-1" },
  "a reference to nothing": { uri: "#_nothing" },
  "a reference to the whole document": { uri: "" },
  "a reference by XPointer": { uri: "#xpointer(id('_assertion-1'))" },
  "a reference to an address": { uri: "https://evil.example/#_assertion-1" },
  "a reference to a file": { uri: "file:///etc/passwd" },
  "a reference without #": { uri: "_assertion-1" },
  "a reference with a type": { uri: '#_assertion-1" Type="http://www.w3.org/2000/09/xmldsig#Object' },
  "two SignedInfo": { signature: (info, signed) => info + info + value(signed) },
  "two SignedInfo around the value": { signature: (info, signed) => info + value(signed) + info },
  "the value first": { signature: (info, signed) => value(signed) + info },
  "two values": { signature: (info, signed) => info + value(signed) + value(signed) },
  "no value": { signature: (info) => info },
  "an empty value": { signature: (info) => info + value("") },
  "a value with text around": { signature: (info, signed) => `${info}x${value(signed)}` },
  "an Object": { signature: (info, signed) => `${info}${value(signed)}<ds:Object/>` },
  "an Object after KeyInfo": { signature: (info, signed) => `${info}${value(signed)}<ds:KeyInfo/><ds:Object/>` },
  "SignedInfo within SignedInfo": {
    signature: (info, signed) => info.replace("<ds:SignedInfo>", `<ds:SignedInfo>${info}`) + value(signed),
  },
  "another element signed like SignedInfo": {
    sign: (text) =>
      createSign("sha256").update(text.replaceAll("ds:SignedInfo", "ds:Manifest")).sign(keys.keyPem, "base64"),
    signature: (info, signed) => info.replaceAll("ds:SignedInfo", "ds:Manifest") + value(signed),
  },
  "another element with the value": {
    signature: (info, signed) => `${info}<ds:DigestValue>${signed}</ds:DigestValue>`,
  },
  "SignedInfo without a namespace": {
    signature: (info, signed) => info.replaceAll("ds:SignedInfo>", "SignedInfo>") + value(signed),
  },
};

describe("a genuine signature", () => {
  it("a genuine signature is accepted in the one shape", async () => {
    const xml = responseXml(honest());
    for (const shape of [
      {},
      { prefixes: ["xs"] },
      {
        signature: (info: string, signed: string) =>
          `\n${info} ${value(`\n${signed}\n`)}\n<ds:KeyInfo><ds:KeyName/></ds:KeyInfo>`,
      },
      { c14n: c14n(algorithms.exclusive, list("nowhere #default")) },
      {
        method: method(algorithms.ecdsaSha256),
        sign: (text: string) =>
          createSign("sha256").update(text).sign({ key: elliptic.keyPem, dsaEncoding: "ieee-p1363" }, "base64"),
      },
    ]) {
      assert.equal(told(await bring(idp, craft(xml, "Assertion", keys.keyPem, shape))), "in: ada");
    }
  });

  for (const [name, shape] of Object.entries(shapes)) {
    it(`I4: a genuine signature is rejected with ${name}`, async () => {
      for (const [part, other] of [
        ["Assertion", "Response"],
        ["Response", "Assertion"],
      ] as const) {
        const xml = responseXml(honest());
        const here = { ...shape, ...(shape.uri === "#_response-1" && part === "Response" && { uri: "#_assertion-1" }) };
        const crafted = craft(xml, part, keys.keyPem, here);
        const expected =
          crafted.includes('Id="i"') || !crafted.includes("<ds:Signature") ? /5305/ : /^signatures 5305$/;
        assert.match(told(await bring(idp, crafted)), expected);
        // Rejected also beside a correct signature.
        if (part === "Assertion")
          assert.match(told(await bring(idp, signXml(crafted, other, { key: keys.keyPem }))), expected);
      }
    });
  }

  it("I4: a genuine signature is rejected with the key of an attacker in KeyInfo", async () => {
    const shown = `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${derOf(attacker.certificatePem)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`;
    const xml = craft(responseXml(honest()), "Assertion", attacker.keyPem, {
      signature: (info, signed) => `${info}${value(signed)}${shown}`,
    });
    assert.equal(told(await bring(idp, xml)), "signatures 5305");
  });

  it("I4: a genuine signature is rejected at any other place than after its Issuer", async () => {
    const xml = craft(responseXml(honest()), "Assertion", keys.keyPem);
    const [signature = ""] = /<ds:Signature.*<\/ds:Signature>/s.exec(xml) ?? [];
    const without = xml.replace(signature, "");
    let taken = 0;
    for (const { index } of without.matchAll(/</g)) {
      const outcome = await bring(idp, without.slice(0, index) + signature + without.slice(index));
      // The enveloped signature leaves no trace in the digest. Only its place, which the schema defines, counts.
      if ("identity" in outcome) taken += 1;
    }
    assert.equal(taken, 1);
  });
});
