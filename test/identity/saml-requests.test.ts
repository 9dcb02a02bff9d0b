/** Requests to identity providers, as other implementations read them. */
import assert from "node:assert/strict";
import { createPublicKey, createVerify } from "node:crypto";
import { describe, it } from "node:test";
import { inflateRawSync } from "node:zlib";
import { makeAuthnRequest } from "../../src/identity/saml/requests/authn-request.ts";
import { requestIdOf, readRelay } from "../../src/identity/saml/requests/relay.ts";
import type { Outgoing } from "../../src/identity/saml/transport/outgoing-message.ts";
import { algorithms, makeProviderKeys, persistent } from "../support/saml-idp.ts";
import { acsUrl, entityId, flowId, metadataOf, now, relayKey, routeId } from "../support/saml-login.ts";
import { everyNode, findDom, parseDom, SignedXml } from "../support/xml-crypto.ts";

const own = await makeProviderKeys();
const idp = metadataOf(await makeProviderKeys("ec"));
const input = {
  routeId,
  entityId,
  acsUrl,
  idp,
  nameIdFormat: persistent,
  forceAuthn: false,
  signingKeyPem: own.keyPem,
  flowId,
  host: "abc123",
  relayKey: relayKey.toString("base64"),
  nowMs: now,
};
const byPost = { ...idp, signOn: { post: "https://idp.example/post" } };

/** Verifies the signature like a provider, and returns the message. */
function verified(outgoing: Outgoing): string {
  if (outgoing.binding === "post") {
    const xml = Buffer.from(outgoing.fields["SAMLRequest"] ?? "", "base64").toString();
    const signed = new SignedXml({ publicCert: own.certificatePem });
    signed.loadSignature(findDom(xml, "Signature"));
    assert.ok(signed.checkSignature(xml));
    return xml;
  }
  const query = outgoing.url.slice(outgoing.url.indexOf("SAMLRequest="));
  const [octets = "", signature = ""] = query.split("&Signature=");
  assert.match(octets, /^SAMLRequest=[^&]+&RelayState=[^&]+&SigAlg=[^&]+$/);
  assert.equal(new URL(outgoing.url).searchParams.get("SigAlg"), algorithms.rsaSha256);
  const key = createPublicKey(own.certificatePem);
  assert.ok(createVerify("sha256").update(octets).verify(key, decodeURIComponent(signature), "base64"));
  const encoded = new URL(outgoing.url).searchParams.get("SAMLRequest") ?? "";
  return inflateRawSync(Buffer.from(encoded, "base64")).toString();
}

describe("a request to an identity provider", () => {
  for (const [binding, metadata] of [
    ["redirect", idp],
    ["post", byPost],
  ] as const) {
    it(`a request to an identity provider is signed and contains all parameters, by ${binding}`, () => {
      const outgoing = makeAuthnRequest({ ...input, idp: metadata });
      assert.equal(outgoing.binding, binding);
      const xml = verified(outgoing);
      const root = parseDom(xml);
      const attributes = Object.fromEntries(
        Array.from({ length: root.attributes.length }, (_, at) => root.attributes[at])
          .filter((one) => one && !one.name.startsWith("xmlns"))
          .map((one) => [one?.name, one?.value]),
      );
      assert.deepEqual(attributes, {
        ID: requestIdOf({ flowId, host: "abc123" }, { purpose: "login", routeId }, relayKey),
        Version: "2.0",
        IssueInstant: "2027-03-04T12:00:00Z",
        Destination: binding === "post" ? "https://idp.example/post" : "https://idp.example/sso",
        ProtocolBinding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
        AssertionConsumerServiceURL: acsUrl,
      });
      const children = [...everyNode(root)].map(({ localName }) => localName).filter((name) => name !== "AuthnRequest");
      assert.deepEqual([children[0], children.at(-1)], ["Issuer", "NameIDPolicy"]);
      assert.ok(xml.includes(`<samlp:NameIDPolicy Format="${persistent}" AllowCreate="true">`));
      assert.ok(xml.includes(`<saml:Issuer>${entityId}</saml:Issuer>`));
      assert.ok(!xml.includes("RequestedAuthnContext"));
    });
  }

  it("a request to an identity provider requires a new login only if the route does", () => {
    assert.ok(verified(makeAuthnRequest({ ...input, forceAuthn: true })).includes(' ForceAuthn="true"'));
    assert.ok(!verified(makeAuthnRequest(input)).includes("ForceAuthn"));
  });

  it("a request to an identity provider has a RelayState that identifies the response", () => {
    for (const outgoing of [makeAuthnRequest(input), makeAuthnRequest({ ...input, idp: byPost })]) {
      const relay =
        outgoing.binding === "post"
          ? outgoing.fields["RelayState"]
          : (new URL(outgoing.url).searchParams.get("RelayState") ?? undefined);
      const read = readRelay(relay ?? "", { purpose: "login", routeId }, [relayKey]);
      const id = requestIdOf({ flowId, host: "abc123" }, { purpose: "login", routeId }, relayKey);
      assert.deepEqual([read?.flowId, read?.hostBy(id), read?.sentMs], [flowId, "abc123", now]);
    }
  });

  it("a request to an identity provider preserves the query of the provider's address", () => {
    const metadata = { ...idp, signOn: { redirect: "https://idp.example/sso?tenant=a%26b" } };
    const outgoing = makeAuthnRequest({ ...input, idp: metadata });
    assert.ok(outgoing.url.startsWith("https://idp.example/sso?tenant=a%26b&SAMLRequest="));
    verified(outgoing);
  });

  it("a request to an identity provider escapes its values", () => {
    const odd = `https://a.example/?b=1&c="<'>`;
    const xml = verified(makeAuthnRequest({ ...input, idp: byPost, entityId: odd, acsUrl: odd }));
    assert.equal(parseDom(xml).getAttribute("AssertionConsumerServiceURL"), odd);
    assert.equal(findDom(xml, "Issuer").firstChild && xml.includes("&lt;'&gt;</saml:Issuer>"), true);
    assert.throws(() => makeAuthnRequest({ ...input, entityId: "\0" }), /character/);
  });
});
