/** Forms that a browser posts, before their XML is parsed, and XML that is expensive on purpose. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { verifyResponse } from "../../src/identity/saml/response/checks/verify-response.ts";
import { makeProviderKeys, responseXml, signXml } from "../support/saml-idp.ts";
import {
  bring,
  freshHost,
  honest,
  inputFor,
  metadataOf,
  relayState,
  signedResponse,
  told,
} from "../support/saml-login.ts";

const keys = await makeProviderKeys();
const idp = metadataOf(keys);
const signing = { key: keys.keyPem };
const xml = signedResponse(honest(), ["Assertion"], signing);
const base64 = Buffer.from(xml).toString("base64");
const encoded = encodeURIComponent(base64);
const relay = `&RelayState=${relayState()}`;

const come = async (form: string) => told(await verifyResponse(inputFor(idp, form), freshHost()));

describe("the form of a response", () => {
  it("the form of a response may have other fields, any order, and base64 in lines", async () => {
    assert.equal(await come(`SAMLResponse=${encoded}${relay}`), "in: ada");
    assert.equal(await come(`a=b&RelayState=${relayState()}&SAMLResponse=${encoded}&c`), "in: ada");
    const lines = encodeURIComponent(base64.replace(/.{76}/g, "$&\r\n"));
    assert.equal(await come(`SAMLResponse=${lines}${relay}`), "in: ada");
  });

  it("I4: the form of a response has each field once, in any spelling, and nothing that cannot be decoded", async () => {
    for (const form of [
      "",
      "SAMLResponse",
      "SAMLResponse=",
      `SAMLRequest=${encoded}${relay}`,
      `SAMLResponse=${encoded}&SAMLResponse=${encoded}${relay}`,
      `SAMLResponse=${encoded}&%53AMLResponse=${encoded}${relay}`,
      `SAMLResponse=${encoded}${relay}${relay}`,
      `SAMLResponse=${encoded}&Relay%53tate=a${relay}`,
      `SAMLResponse=${encoded}%${relay}`,
      `SAMLResponse=${encoded}%zz${relay}`,
      `SAMLResponse=%ff${relay}`,
      `SAMLResponse=${encoded}&RelayState=%ff`,
      `SAMLResponse=${encoded}&RelayState=${"a".repeat(2049)}`,
      `${"a&".repeat(100)}SAMLResponse=${encoded}${relay}`,
      `SAMLResponse=${encoded}${relay}&a=${"a".repeat(524_288)}`,
    ]) {
      assert.equal(await come(form), "form 5305", form.slice(0, 100));
    }
  });

  it("I4: the form of a response contains strict base64 of UTF-8, of at most 256 KiB", async () => {
    const padded = base64.endsWith("=") ? base64 : Buffer.from(`${xml} `).toString("base64");
    for (const text of [
      `${base64}=`,
      `${base64}A`,
      `!${base64}`,
      `${base64}====`,
      base64.replaceAll(/[+/]/g, "_"),
      padded.replace(/=+$/, ""),
      `=${base64}`,
      Buffer.from([0xff, 0xfe]).toString("base64"),
      Buffer.from(`${xml}\xff`, "latin1").toString("base64"),
      Buffer.alloc(262_145, 0x20).toString("base64"),
    ]) {
      if (text !== base64)
        assert.equal(await come(`SAMLResponse=${encodeURIComponent(text)}${relay}`), "form 5305", text.slice(0, 40));
    }
    const marked = Buffer.from(`\uFEFF${xml}`).toString("base64");
    assert.equal(await come(`SAMLResponse=${encodeURIComponent(marked)}${relay}`), "document 5305");
  });
});

describe("expensive XML", () => {
  const head = '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">';
  const entities = Array.from({ length: 10 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join("");
  const declarations = Array.from({ length: 31 }, (_, at) => ` xmlns:p${at}="urn:${at}"`).join("");
  const costly: Readonly<Record<string, string>> = {
    "a billion laughs": `<!DOCTYPE r [<!ENTITY e0 "ha">${entities}]>${head}&e10;</samlp:Response>`,
    "an external entity": `<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]>${head}&e;</samlp:Response>`,
    "an external subset": `<!DOCTYPE r SYSTEM "https://evil.example/x.dtd">${head}</samlp:Response>`,
    "a parameter entity": `<!DOCTYPE r [<!ENTITY % e SYSTEM "https://evil.example/x">%e;]>${head}</samlp:Response>`,
    "33 levels": `${head}${"<a>".repeat(32)}${"</a>".repeat(32)}</samlp:Response>`,
    "80,000 levels": "<a>".repeat(80_000),
    "2,001 elements": `${head}${"<a/>".repeat(2000)}</samlp:Response>`,
    "33 attributes": `<samlp:Response xmlns:samlp="urn:p"${Array.from({ length: 32 }, (_, at) => ` a${at}=""`).join("")}/>`,
    "65,000 attributes": `<a ${"b='' ".repeat(50_000)}/>`,
    "a name without an end": `<${"a".repeat(262_000)}`,
    "an attribute without an end": `<a b="${"a".repeat(262_000)}`,
    "white space": `<a${" ".repeat(262_000)}`,
    "references to characters": `${head}${"&#65;".repeat(50_000)}`,
    ampersands: `${head}${"&".repeat(250_000)}`,
    "end tags": "</a>".repeat(60_000),
    "angle brackets": "<".repeat(262_000),
    comments: `${head}${"<!--".repeat(60_000)}`,
    "names without white space": `<a${"b=''".repeat(60_000)}/>`,
    "prefixes declared on every level": `${`<a${declarations}>`.repeat(31)}${"<p0:b/>".repeat(1900)}${"</a>".repeat(31)}`,
    "text of brackets": `${head}${"]]".repeat(120_000)}`,
    garbage: Buffer.from(Array.from({ length: 200_000 }, (_, at) => 32 + ((at * 7919) % 95))).toString(),
  };
  for (const [name, text] of Object.entries(costly)) {
    it(`I4: expensive XML is rejected by the reader: ${name}`, async () => {
      assert.match(told(await bring(idp, text)), /^(?:document|envelope) 5305$/);
    });
  }

  it("I4: expensive XML is not canonicalized, unless the provider signed it", async () => {
    const wide = `<saml:Advice>${`<a${declarations}/>`.repeat(200)}</saml:Advice>`;
    const large = responseXml(honest()).replace("<saml:AuthnStatement", `${wide}<saml:AuthnStatement`);
    const signed = signXml(large, "Assertion", signing);
    assert.equal(told(await bring(idp, signed)), "in: ada");
    const outcome = await bring(idp, signed.replace(/SignatureValue>..../, "SignatureValue>AAAA"));
    assert.match("refused" in outcome ? outcome.refused.reason : "", /no certificate of the metadata verifies/);
  });
});
