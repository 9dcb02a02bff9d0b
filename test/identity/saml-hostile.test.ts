/**
 * Families of hostile documents. One step turns an honest document into a hostile one, at every possible place. A
 * hostile document must admit no one except the person for whom the provider signed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeProviderKeys, responseXml, signXml } from "../support/saml-idp.ts";
import { bring, honest, metadataOf, signedForms, signedResponse, told } from "../support/saml-login.ts";
import { seededRandom } from "../support/random.ts";

const keys = await makeProviderKeys();
const attacker = await makeProviderKeys();
const idp = metadataOf(keys);
const signing = { key: keys.keyPem };

/** Returns every position where a tag ends or begins, at which text can be inserted into a document. */
function places(xml: string): number[] {
  return [...new Set([...xml.matchAll(/>|</g)].map(({ index, 0: sign }) => (sign === ">" ? index + 1 : index)))];
}

/** Returns the source text of an element with this name, and its start. */
function written(xml: string, name: string): { readonly text: string; readonly from: number; readonly to: number } {
  const from = xml.indexOf(`<${name}`);
  const to = xml.indexOf(`</${name}>`, from) + `</${name}>`.length;
  return { text: xml.slice(from, to), from, to };
}

const inserted = (xml: string, at: number, what: string): string => xml.slice(0, at) + what + xml.slice(at);

for (const parts of signedForms) {
  const xml = signedResponse(honest(), parts, signing);
  const inside = `with ${parts.join(" and ")} signed`;
  const same = await bring(idp, xml);
  assert.equal(told(same), "in: ada");
  const assertion = written(xml, "saml:Assertion").text;
  const unsigned = assertion.replace(/<ds:Signature.*<\/ds:Signature>/s, "");

  const forged = (text: string) => text.replace(">ada<", ">mallory<");
  /** Assertions that an attacker would like to inject. */
  const assertions = {
    "a forged one": forged(unsigned).replace("_assertion-1", "_evil"),
    "a forged one of the same ID": forged(unsigned),
    "a forged one with the signature of the other": forged(assertion).replace('ID="_assertion-1"', 'ID="_evil"'),
    "an empty one": '<Assertion xmlns="urn:oasis:names:tc:SAML:2.0:assertion"/>',
    "itself once more": assertion,
  };

  describe(`a document ${inside}`, () => {
    for (const [name, evil] of Object.entries(assertions)) {
      it(`I4: a document ${inside} is rejected with a second Assertion at any place: ${name}`, async () => {
        for (const at of places(xml)) {
          const outcome = await bring(idp, inserted(xml, at, evil));
          assert.ok("refused" in outcome, `${told(outcome)} at ${at}`);
        }
      });
    }

    it(`I4: a document ${inside} is rejected if wrapped into a forged one, at any place`, async () => {
      const elements = [xml, assertion, written(xml, "ds:Signature").text];
      const wrappers = ["Object", "KeyInfo"].map(
        (local) => (what: string) => `<ds:${local} xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${what}</ds:${local}>`,
      );
      for (const evil of [
        forged(xml),
        forged(responseXml(honest())),
        forged(responseXml(honest({ assertionId: "_e" }))),
      ]) {
        for (const what of elements.flatMap((one) => [one, ...wrappers.map((wrap) => wrap(one))])) {
          for (const at of places(evil)) {
            const outcome = await bring(idp, inserted(evil, at, what));
            assert.ok("refused" in outcome, `${told(outcome)} at ${at}`);
          }
        }
      }
    });

    it(`I4: a document ${inside} is rejected with a comment, CDATA section, processing instruction or entity at any place`, async () => {
      const nameAt = xml.indexOf(">ada<") + 1;
      for (const what of [
        "<!---->",
        "<!-- c -->",
        "<![CDATA[]]>",
        "<![CDATA[x]]>",
        "<?p?>",
        "<?p i?>",
        "&e;",
        "&lt!--;",
      ]) {
        for (const at of [...places(xml), nameAt + 1, nameAt + 2]) {
          assert.ok("refused" in (await bring(idp, inserted(xml, at, what))), `${what} at ${at}`);
        }
      }
    });

    it(`I4: a document ${inside} identifies the same visitor, or none, if an element is removed, doubled, moved or renamed`, async () => {
      const elements = [...xml.matchAll(/<([a-z]+:\w+)[^>]*?(\/?)>/g)].map(
        ({ index, 0: tag, 1: name = "", 2: empty }) => {
          let to = index + tag.length;
          if (empty === "") {
            let open = 1;
            for (const one of xml.slice(to).matchAll(new RegExp(`<(/?)${name}(?=[ >/])[^>]*?(/?)>`, "g"))) {
              if (one[2] === "") open += one[1] === "/" ? -1 : 1;
              if (open > 0) continue;
              to += one.index + one[0].length;
              break;
            }
          }
          return { name, text: xml.slice(index, to), from: index, to };
        },
      );
      assert.ok(elements.length > 20);
      for (const { name, text, from, to } of elements) {
        const without = xml.slice(0, from) + xml.slice(to);
        const local = name.split(":")[1] as string;
        for (const changed of [
          without,
          inserted(xml, to, text),
          inserted(xml, from, text.replaceAll(/ ID="[^"]*"/g, "")),
          inserted(without, without.lastIndexOf("</samlp:Response>"), text),
          inserted(without, without.indexOf("<samlp:Status"), text),
          xml.replace(text, text.replaceAll(name, `${name}x`)),
          xml.replace(text, text.replaceAll(name, `evil:${local}`).replace(">", ' xmlns:evil="urn:evil">')),
        ]) {
          if (changed === xml) continue;
          const outcome = await bring(idp, changed);
          if ("refused" in outcome) continue;
          assert.deepEqual(outcome, same, `${name} at ${from}`);
        }
      }
    });

    it(`I4: a document ${inside} identifies the same visitor, or none, if an attribute or a text is changed or removed`, async () => {
      for (const { index, 0: attribute, 1: value = "" } of xml.matchAll(/ [\w:]+="([^"]*)"/g)) {
        const end = index + attribute.length;
        for (const other of [
          "",
          attribute.replace(value, `${value}x`),
          attribute.replace(value, ""),
          attribute + attribute,
        ]) {
          const outcome = await bring(idp, xml.slice(0, index) + other + xml.slice(end));
          if ("identity" in outcome) assert.deepEqual(outcome, same, attribute);
        }
      }
      for (const { index, 1: text = "" } of xml.matchAll(/>([^<]+)</g)) {
        for (const other of [`${text}x`, `x${text}`, ""]) {
          const outcome = await bring(idp, `${xml.slice(0, index + 1)}${other}${xml.slice(index + 1 + text.length)}`);
          if ("identity" in outcome) assert.deepEqual(outcome, same, text);
        }
      }
    });

    it(`I4: a document ${inside} identifies the same visitor, or none, whichever characters are replaced`, async () => {
      const random = seededRandom(parts.join().length);
      const bytes = ["", ..."<>/=\"'&;:#! ?-[]aA0".split(""), "\n", "\u00e9"];
      for (let count = 0; count < 1500; count += 1) {
        let changed = xml;
        for (let more = 1 + random.below(3); more > 0; more -= 1) {
          const at = random.below(changed.length);
          const kept = random() < 0.5 ? 1 : 0;
          changed = changed.slice(0, at) + random.pick(bytes) + changed.slice(at + kept);
        }
        const outcome = await bring(idp, changed);
        if ("identity" in outcome) assert.deepEqual(outcome, same, changed);
      }
    });

    it(`I4: a document ${inside} is rejected if it is signed with a key outside the metadata, in KeyInfo or not`, async () => {
      for (const shown of [undefined, attacker.certificatePem, keys.certificatePem]) {
        const evil = { key: attacker.keyPem, ...(shown !== undefined && { shown }) };
        assert.equal(told(await bring(idp, signedResponse(honest(), parts, evil))), "signatures 5305");
      }
    });
  });
}

describe("a document with two signatures", () => {
  it("I4: a document with two signatures is rejected if either of them is not the provider's", async () => {
    const own = (xml: string, part: string) => signXml(xml, part, signing);
    const evil = (xml: string, part: string) => signXml(xml, part, { key: attacker.keyPem });
    const xml = responseXml(honest());
    assert.equal(told(await bring(idp, own(evil(xml, "Assertion"), "Response"))), "signatures 5305");
    assert.equal(told(await bring(idp, evil(own(xml, "Assertion"), "Response"))), "signatures 5305");
    const twice = await bring(idp, own(own(xml, "Assertion"), "Assertion"));
    assert.match("refused" in twice ? twice.refused.reason : "", /signed twice/);
  });

  it("I4: a document with two signatures is rejected if it contains another message signed by the provider, at any place", async () => {
    const logout = `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_logout" Version="2.0"><saml:Issuer>x</saml:Issuer></samlp:LogoutRequest>`;
    const genuine = signXml(logout, "LogoutRequest", signing);
    const forged = responseXml(honest({ nameId: "mallory" })).replace(
      "<samlp:Status>",
      "<samlp:Extensions></samlp:Extensions>$&",
    );
    let atSignatures = 0;
    for (const at of places(forged)) {
      const outcome = told(await bring(idp, inserted(forged, at, genuine)));
      assert.match(outcome, / 5\d{3}$/);
      if (outcome === "signatures 5305") atSignatures += 1;
    }
    assert.ok(atSignatures > 10, "the document is refused for its signature alone");
  });

  it("I4: a document with two signatures is rejected without any signature", async () => {
    assert.equal(told(await bring(idp, responseXml(honest()))), "signatures 5305");
  });
});
