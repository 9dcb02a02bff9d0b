/** SAML logins: an honest provider's response is accepted, in every form that providers sign. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { verifyResponse } from "../../src/identity/saml/response/checks/verify-response.ts";
import { craft } from "../support/crafted-signature.ts";
import { algorithms, formBody, makeProviderKeys, responseXml, signXml } from "../support/saml-idp.ts";
import {
  bring,
  freshHost,
  honest,
  inputFor,
  metadataOf,
  minute,
  now,
  relayState,
  signedForms,
  signedResponse,
  told,
} from "../support/saml-login.ts";

const [first, second, elliptic] = await Promise.all([makeProviderKeys(), makeProviderKeys(), makeProviderKeys("ec")]);
const idp = metadataOf(first);

describe("a response of SAML", () => {
  for (const parts of signedForms) {
    it(`a response of SAML admits the named visitor, with ${parts.join(" and ")} signed`, async () => {
      const outcome = await bring(idp, signedResponse(honest(), parts, { key: first.keyPem }));
      assert.deepEqual(outcome, {
        identity: {
          nameId: "ada",
          format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
          sessionIndex: "session-1",
          authnInstantMs: now,
          sessionNotOnOrAfterMs: now + 480 * minute,
          attributes: [
            { name: "email", values: ["Ada@Example.com"] },
            { name: "displayName", values: ["Ada Löwe"] },
            { name: "groups", values: ["staff", "admins"] },
          ],
          email: "ada@example.com",
          name: "Ada Löwe",
          groups: ["staff", "admins"],
        },
        origin: { by: "request", flowId: "abcdefghijklmnopqrstuv", host: "abc123", sentMs: now - minute },
      });
    });
  }

  it("a response of SAML may be signed with any certificate of the metadata, of either kind, with any SHA-2", async () => {
    const several = metadataOf(second, elliptic, first);
    for (const signing of [
      { key: first.keyPem },
      { key: second.keyPem, algorithm: algorithms.rsaSha512, digest: algorithms.sha512 },
      { key: elliptic.keyPem, algorithm: algorithms.ecdsaSha256 },
    ]) {
      assert.equal(told(await bring(several, signedResponse(honest(), ["Assertion"], signing))), "in: ada");
    }
  });

  it("a response of SAML may list prefixes as inclusive, and contain a certificate, which is ignored", async () => {
    for (const parts of signedForms) {
      const signing = { key: first.keyPem, shown: second.certificatePem };
      assert.equal(told(await bring(idp, signedResponse(honest(), parts, signing))), "in: ada");
    }
    for (const prefixes of [["xs"], ["saml", "xs"], ["samlp", "unbound"]]) {
      const xml = craft(responseXml(honest()), "Assertion", first.keyPem, { prefixes });
      assert.equal(told(await bring(idp, xml)), "in: ada");
    }
  });

  it("a response of SAML may start with an XML declaration and have lines that end in CR LF", async () => {
    const xml = signedResponse(honest(), ["Assertion"], { key: first.keyPem });
    assert.equal(told(await bring(idp, `<?xml version="1.0" encoding="UTF-8"?>\n${xml}`)), "in: ada");
    assert.equal(told(await bring(idp, xml.replaceAll("\n", "\r\n"))), "in: ada");
  });

  it("a response of SAML is accepted by its NameID's format, unless the route allows any", async () => {
    const email = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
    const said = honest({ format: email, nameId: "Grace@Example.com", attributes: {} });
    const xml = signedResponse(said, ["Assertion"], { key: first.keyPem });
    assert.equal(told(await bring(idp, xml)), "subject 5305");
    const nameIdFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
    const outcome = await bring(idp, xml, { nameIdFormat });
    assert.ok("identity" in outcome);
    assert.equal(outcome.identity.email, "grace@example.com");
    assert.deepEqual(outcome.identity.groups, []);
  });

  it("I5: a response of SAML provides an e-mail address only if a value is a whole address, and a name only if it is printable", async () => {
    const identityOf = async (attributes: Readonly<Record<string, readonly string[]>>, nameId = "ada@example.com") => {
      const xml = signedResponse(honest({ nameId, attributes }), ["Assertion"], { key: first.keyPem });
      const outcome = await bring(idp, xml);
      assert.ok("identity" in outcome, told(outcome));
      return outcome.identity;
    };
    const longest = `${"a".repeat(242)}@example.com`;
    for (const [given, expected] of [
      // The NameID does not have the format of addresses, even if it looks like one.
      [[], ""],
      [["ada@exämple.com"], ""],
      [["ada@@example.com"], ""],
      [["a b@example.com"], ""],
      [["ada@example.com\n"], ""],
      [["@example.com"], ""],
      [["ada@"], ""],
      [["none", "Ada@Example.com"], "ada@example.com"],
      [[longest], longest],
      [[`a${longest}`], ""],
    ] as const) {
      assert.equal((await identityOf({ email: given })).email, expected, given.join());
    }
    const shown = await identityOf({ displayName: ["", "\t", "x".repeat(257), "Ada", "Eve"] });
    assert.equal(shown.name, "Ada");
    assert.equal((await identityOf({ displayName: ["x".repeat(256)] })).name.length, 256);
    // Elements of another namespace do not count as values, attributes or statements.
    for (const [from, to] of [
      ["saml:AttributeValue", "o:AttributeValue"],
      ["saml:Attribute", "o:Attribute"],
      ["saml:AttributeStatement", "o:AttributeStatement"],
    ] as const) {
      const plain = responseXml(honest({ attributes: { groups: ["staff"] } }));
      const odd = plain
        .replaceAll(new RegExp(`(</?)${from}(?=[ >])`, "g"), `$1${to}`)
        .replaceAll(`<${to}`, `<${to} xmlns:o="urn:odd"`);
      const outcome = await bring(idp, signXml(odd, "Assertion", { key: first.keyPem }));
      assert.ok(!("identity" in outcome) || outcome.identity.groups.length === 0, to);
    }
  });

  it("I5: a response of SAML admits members of one of the groups, compared exactly", async () => {
    const xml = signedResponse(honest(), ["Assertion"], { key: first.keyPem });
    const asked = async (...authorizedGroups: string[]) => told(await bring(idp, xml, { authorizedGroups }));
    assert.equal(await asked("others", "admins"), "in: ada");
    for (const group of ["Admins", "admin", "admins ", "staff,admins", ""]) {
      assert.equal(await asked(group), "groups 5312");
    }
    const none = signedResponse(honest({ attributes: { Groups: ["admins"] } }), ["Assertion"], { key: first.keyPem });
    assert.equal(told(await bring(idp, none, { authorizedGroups: ["admins"] })), "groups 5312");
  });

  it("a response of SAML gets no text from an attribute that contains elements", async () => {
    for (const value of ["><b>staff</b><", ">staff<b/><", "><b/>staff<"]) {
      const xml = responseXml(honest()).replace(">staff<", value);
      const outcome = await bring(idp, signXml(xml, "Assertion", { key: first.keyPem }));
      assert.deepEqual("identity" in outcome && outcome.identity.groups, ["admins"]);
    }
  });
});

describe("a login started at the provider", () => {
  const unasked = honest({ responseInResponseTo: undefined, inResponseTo: undefined });
  const xml = signedResponse(unasked, ["Assertion"], { key: first.keyPem });
  const come = (relay: string | undefined, change = {}) =>
    verifyResponse(
      inputFor(idp, formBody("SAMLResponse", xml, relay), { allowIdpInitiated: true, ...change }),
      freshHost(),
    );

  it("a login started at the provider continues to the address in RelayState, if it belongs to the route", async () => {
    const outcome = await come("https://app.tunnel.example/a?b=1");
    assert.ok("origin" in outcome);
    assert.deepEqual(outcome.origin, { by: "provider", url: "https://app.tunnel.example/a?b=1" });
    assert.equal(told(await come("https://app.tunnel.example.evil.example/")), "request 5322");
  });

  it("a login started at the provider without RelayState goes to the route's only place, and nowhere if there are several", async () => {
    for (const relay of [undefined, ""]) {
      const outcome = await come(relay, { home: "https://app.tunnel.example/" });
      assert.deepEqual("origin" in outcome && outcome.origin, { by: "provider", url: "https://app.tunnel.example/" });
      assert.equal(told(await come(relay)), "request 5321");
    }
  });

  it("I3: a login started at the provider follows no RelayState except an https URL", async () => {
    for (const relay of [
      "http://app.tunnel.example/",
      "//app.tunnel.example/",
      "/a",
      "app",
      "javascript:alert(1)",
      "https://app.tunnel.example\\@evil.example/",
      "https://user@app.tunnel.example/",
      "https://app.tunnel.example/\r\nSet-Cookie: a=b",
      "https://app.tunnel.example/ a",
      "https:app.tunnel.example/",
      "HTTPS://app.tunnel.example/ü",
    ]) {
      assert.equal(told(await come(relay)), "request 5321", relay);
    }
  });

  it("a login started at the provider is rejected if the route does not allow such logins", async () => {
    assert.equal(told(await come("https://app.tunnel.example/", { allowIdpInitiated: false })), "request 5317");
    assert.equal(told(await come(relayState())), "request 5305");
  });

  it("a login started at the provider is claimed where every node sees it, and rejected if the claim fails", async () => {
    const claims: unknown[] = [];
    const input = inputFor(idp, formBody("SAMLResponse", xml, "https://app.tunnel.example/"), {
      allowIdpInitiated: true,
    });
    const outcome = await verifyResponse(input, {
      leadsHere: () => Promise.resolve(true),
      claim: (claim) => {
        claims.push(claim);
        return Promise.resolve("unknown" as const);
      },
    });
    assert.equal(told(outcome), "replay 5305");
    assert.deepEqual(claims, [{ messageId: "_assertion-1", untilMs: now + 5 * minute + 1, unsolicited: true }]);
  });
});
