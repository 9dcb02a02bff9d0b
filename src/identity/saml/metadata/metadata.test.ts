import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { errorCode } from "../../../lib/errors.ts";
import { derOf, idpEntityId, makeProviderKeys, metadataXml, persistent } from "../../../../test/support/saml-idp.ts";
import { weakCertificate } from "../../../../test/support/weak-certificate.ts";
import { acsUrl, entityId, now, sloUrl } from "../../../../test/support/saml-login.ts";
import { refreshAfter } from "./idp-metadata.ts";
import type { IdpMetadata } from "./idp-metadata.ts";
import { readIdpMetadata } from "./read-metadata.ts";
import { writeSpMetadata } from "./write-metadata.ts";
import { attributeOf, walkElements } from "../xml/element.ts";
import { readXml } from "../xml/read-xml.ts";

const keys = await makeProviderKeys();
const second = await makeProviderKeys("ec");
const certificate = derOf(keys.certificatePem);
const usual = { certificates: [certificate], redirect: "https://idp.example/sso", post: "https://idp.example/post" };
const xml = metadataXml(usual);
const replaced = (from: string | RegExp, to: string, text = xml): string => {
  assert.notEqual(text.replace(from, to), text, String(from));
  return text.replace(from, to);
};

function taken(text: string, nowMs = now): IdpMetadata {
  const read = readIdpMetadata(text, nowMs);
  if ("refused" in read) assert.fail(read.refused.reason);
  return read.metadata;
}

function reasonOf(text: string): string {
  const read = readIdpMetadata(text, now);
  if (!("refused" in read)) return "";
  assert.equal(read.refused.code, errorCode("saml_metadata"));
  assert.equal(read.refused.status, 500);
  return read.refused.reason;
}

describe("identity provider metadata", () => {
  it("identity provider metadata contains the login and logout addresses, and the keys for verification", () => {
    const text = metadataXml({
      ...usual,
      certificates: [certificate, derOf(second.certificatePem)],
      logout: "https://idp.example/slo?a=b",
    });
    assert.deepEqual(taken(text), {
      entityId: idpEntityId,
      signOn: { redirect: "https://idp.example/sso", post: "https://idp.example/post" },
      signOut: {
        redirect: { location: "https://idp.example/slo?a=b", responseLocation: "https://idp.example/slo?a=b" },
      },
      certificates: [certificate, derOf(second.certificatePem)],
      warnings: [],
    });
    const apart = replaced(
      'Location="https://idp.example/slo?a=b"',
      '$& ResponseLocation="https://idp.example/done"',
      text,
    );
    assert.equal(taken(apart).signOut.redirect?.responseLocation, "https://idp.example/done");
  });

  it("identity provider metadata may contain comments, start with a byte order mark, and be one of several entities", () => {
    const entity = xml.slice(xml.indexOf("<md:EntityDescriptor"));
    const service = `<md:EntityDescriptor entityID="https://sp.example"><md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/></md:EntityDescriptor>`;
    const others = (inside: string, attributes = "") =>
      `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"${attributes}>${inside}</md:EntitiesDescriptor>`;
    const alone = taken(xml);
    assert.deepEqual(taken(`\uFEFF${xml}`), alone);
    assert.deepEqual(taken(replaced("<md:NameIDFormat>", "<!-- <x> --><md:NameIDFormat>")), alone);
    assert.deepEqual(taken(others(`${service}${others(entity)}`)), alone);
    assert.match(reasonOf(others(entity + entity)), /more than one identity provider/);
    assert.match(reasonOf(others(service)), /no identity provider/);
    assert.deepEqual(taken(others(entity, ' validUntil="2027-03-05T00:00:00Z" cacheDuration="PT2H"')), {
      ...alone,
      validUntilMs: Date.UTC(2027, 2, 5),
      cacheSeconds: 7200,
    });
  });

  it("metadata of an identity provider is valid until the earliest stated end, and refreshed every 5 minutes to a day", () => {
    const text = metadataXml({ ...usual, attributes: ' validUntil="2027-03-06T00:00:00Z" cacheDuration="PT1M"' });
    const earlier = replaced("<md:IDPSSODescriptor", '<md:IDPSSODescriptor validUntil="2027-03-05T00:00:00Z"', text);
    assert.equal(taken(earlier).validUntilMs, Date.UTC(2027, 2, 5));
    assert.match(
      reasonOf(metadataXml({ ...usual, attributes: ' validUntil="2027-03-04T12:00:00Z"' })),
      /validUntil has passed/,
    );
    assert.match(reasonOf(metadataXml({ ...usual, attributes: ' validUntil="tomorrow"' })), /cannot be read/);
    assert.match(reasonOf(metadataXml({ ...usual, attributes: ' cacheDuration="long"' })), /cannot be read/);
    assert.equal(refreshAfter(taken(xml)), 3600);
    assert.equal(refreshAfter(taken(text)), 300);
    assert.equal(refreshAfter({ ...taken(xml), cacheSeconds: 1e9 }), 86_400);
  });

  it("I4: identity provider metadata is refused without a sufficiently strong key", async () => {
    assert.match(reasonOf(metadataXml({ ...usual, certificates: [] })), /no certificate/);
    assert.match(reasonOf(metadataXml({ ...usual, certificates: ["AAAA"] })), /cannot be read/);
    assert.match(reasonOf(metadataXml({ ...usual, certificates: ["!"] })), /not base64/);
    const weak = derOf(weakCertificate.certificatePem);
    assert.match(reasonOf(metadataXml({ ...usual, certificates: [weak] })), /RSA key of 1024 bits/);
    const both = taken(metadataXml({ ...usual, certificates: [weak, certificate] }));
    assert.deepEqual(
      [both.certificates, both.warnings],
      [[certificate], ["a certificate has an RSA key of 1024 bits"]],
    );
    const encrypting = replaced('use="signing"', 'use="encryption"');
    assert.match(reasonOf(encrypting), /no certificate/);
    assert.deepEqual(taken(replaced(' use="signing"', "")).certificates, [certificate]);
    assert.match(
      reasonOf(replaced(/<ds:X509Data>.*<\/ds:X509Data>/s, "<ds:KeyName>k</ds:KeyName>")),
      /no X509Certificate/,
    );
    const many = await Promise.all(Array.from({ length: 17 }, () => makeProviderKeys("ec")));
    const certificates = many.map(({ certificatePem }) => derOf(certificatePem));
    assert.match(reasonOf(metadataXml({ ...usual, certificates })), /more than 16 certificates/);
  });

  it("accepts expired certificates with a warning", async () => {
    const old = await makeProviderKeys("ec", 1);
    const read = taken(metadataXml({ ...usual, certificates: [derOf(old.certificatePem)] }));
    assert.match(read.warnings.join(), /expired at/);
    const early = taken(xml, Date.UTC(2000, 0));
    assert.match(early.warnings.join(), /not valid before/);
  });

  it("I7: accepts https addresses, and http addresses of this machine", () => {
    for (const location of [
      "http://idp.example/sso",
      "//idp.example/sso",
      "/sso",
      "",
      "javascript:alert(1)",
      "https://user@idp.example/",
      "https://:password@idp.example/",
      "https://idp.example/#a",
      "https://idp.example/ a",
      `https://idp.example/${"a".repeat(2048)}`,
    ]) {
      assert.match(reasonOf(metadataXml({ ...usual, redirect: location })), /Location/, location);
      assert.match(reasonOf(metadataXml({ ...usual, logout: location })), /Location/, location);
    }
    assert.equal(
      taken(metadataXml({ ...usual, redirect: "http://127.0.0.1:4780/sso" })).signOn.redirect,
      "http://127.0.0.1:4780/sso",
    );
    const neither = metadataXml({ certificates: [certificate] });
    assert.match(reasonOf(neither), /no SingleSignOnService/);
  });

  it("identity provider metadata is refused if it is not SAML 2.0 metadata", () => {
    assert.match(reasonOf("<x/>"), /no identity provider/);
    assert.match(reasonOf(""), /the metadata: /);
    assert.match(reasonOf(replaced(/entityID="[^"]*"/, 'entityID=""')), /entityID/);
    assert.match(reasonOf(replaced(/entityID="[^"]*"/, `entityID="${"e".repeat(1025)}"`)), /entityID/);
    assert.match(reasonOf(replaced("SAML:2.0:protocol", "SAML:1.1:protocol")), /no identity provider/);
    assert.match(reasonOf(`<!DOCTYPE x>${xml.slice(xml.indexOf("<md"))}`), /DOCTYPE/);
    assert.match(reasonOf(xml.replaceAll("md:EntityDescriptor", "md:Odd")), /does not belong to an entity/);
    assert.match(reasonOf(" ".repeat(1_048_577)), /longer/);
    assert.match(
      reasonOf(
        '<md:IDPSSODescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/>',
      ),
      /does not belong to an entity/,
    );
  });
});

describe("metadata of a route", () => {
  const provider = { entityId, acsUrl, sloUrl, nameIdFormat: persistent, signingCertificates: [keys.certificatePem] };

  it("a route's metadata contains what providers require", () => {
    const { body, contentType } = writeSpMetadata({
      ...provider,
      signingCertificates: [keys.certificatePem, second.certificatePem],
    });
    assert.equal(contentType, "application/samlmetadata+xml");
    const root = readXml(body, { maxLength: 20_000, maxDepth: 10, maxElements: 100, maxAttributes: 10 });
    assert.equal(attributeOf(root, "entityID"), entityId);
    const named = (local: string) => [...walkElements(root)].filter((one) => one.local === local);
    assert.deepEqual(
      named("SPSSODescriptor").map((one) => [
        attributeOf(one, "AuthnRequestsSigned"),
        attributeOf(one, "WantAssertionsSigned"),
      ]),
      [["true", "true"]],
    );
    assert.deepEqual(
      named("AssertionConsumerService").map((one) => [attributeOf(one, "Location"), attributeOf(one, "index")]),
      [[acsUrl, "0"]],
    );
    assert.deepEqual(
      named("SingleLogoutService").map((one) => attributeOf(one, "Location")),
      [sloUrl, sloUrl],
    );
    assert.deepEqual(
      named("NameIDFormat").map(({ children }) => children),
      [[persistent]],
    );
    assert.deepEqual(
      named("X509Certificate").map(({ children }) => children[0]),
      [keys, second].map(({ certificatePem }) => new X509Certificate(certificatePem).raw.toString("base64")),
    );
  });

  it("a route's metadata keeps its entity tag while it is unchanged", () => {
    assert.equal(writeSpMetadata(provider).etag, writeSpMetadata({ ...provider }).etag);
    assert.notEqual(writeSpMetadata(provider).etag, writeSpMetadata({ ...provider, sloUrl: `${sloUrl}2` }).etag);
  });
});
