/** Every claim of a response with every fault, in validly signed responses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { verifyResponse } from "../../src/identity/saml/response/checks/verify-response.ts";
import type { ResponseInput } from "../../src/identity/saml/response/work.ts";
import { makeRelay } from "../../src/identity/saml/requests/relay.ts";
import { formBody, makeProviderKeys, responseXml } from "../support/saml-idp.ts";
import type { Said } from "../support/saml-idp.ts";
import {
  acsUrl,
  bring,
  entityId,
  flowId,
  freshHost,
  honest,
  inputFor,
  metadataOf,
  minute,
  now,
  relayKey,
  relayState,
  routeId,
  signedForms,
  signedResponse,
  signParts,
  told,
} from "../support/saml-login.ts";

const keys = await makeProviderKeys();
const idp = metadataOf(keys);
const signing = { key: keys.keyPem };

interface Wrong {
  readonly said?: Partial<Said>;
  /** Edits the XML before it is signed. */
  readonly edit?: (xml: string) => string;
  /** Forms of signatures. Default: all forms. */
  readonly forms?: typeof signedForms;
  readonly route?: Partial<ResponseInput>;
  readonly told: string;
}

const replace = (from: string | RegExp, to: string) => (xml: string) => {
  const edited = xml.replace(from, to);
  assert.notEqual(edited, xml, `nothing to edit: ${from}`);
  return edited;
};
const insert = (before: string, what: string) => replace(before, `${what}${before}`);
const rejected = (name: string) => `urn:oasis:names:tc:SAML:2.0:status:${name}`;

const wrong: Readonly<Record<string, Wrong>> = {
  "a Response of version 1.1": { said: { responseVersion: "1.1" }, told: "envelope 5305" },
  "a Response without a version": { edit: replace(' Version="2.0"', ""), told: "envelope 5305" },
  "a Response issued six minutes ago": { said: { responseIssued: now - 6 * minute }, told: "envelope 5305" },
  "a Response issued six minutes ahead": { said: { responseIssued: now + 6 * minute }, told: "envelope 5305" },
  "a Response without an issue time": { edit: replace(/ IssueInstant="[^"]*"/, ""), told: "envelope 5305" },
  "a Response issued in a time zone": { edit: replace(/(IssueInstant="[^"]*)Z"/, '$1+00:00"'), told: "envelope 5305" },
  "a Response issued on an impossible day": {
    edit: replace(/IssueInstant="[^T]*T/, 'IssueInstant="2027-02-30T'),
    told: "envelope 5305",
  },
  "a Response without an ID": {
    edit: replace(' ID="_response-1"', ""),
    forms: [["Assertion"]],
    told: "envelope 5305",
  },
  "another Destination": { said: { destination: "https://idp.tunnel.example/saml/other/acs" }, told: "envelope 5305" },
  "a Destination with an extra slash": { said: { destination: `${acsUrl}/` }, told: "envelope 5305" },
  "an empty Destination": { said: { destination: "" }, told: "envelope 5305" },
  "another Issuer of the Response": { said: { responseIssuer: "https://evil.example" }, told: "envelope 5305" },
  "an Issuer of the Response that is not an entity": {
    edit: replace("<saml:Issuer ", '<saml:Issuer Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" '),
    told: "envelope 5305",
  },
  "two Issuers of the Response": {
    edit: insert("<samlp:Status>", '<Issuer xmlns="urn:oasis:names:tc:SAML:2.0:assertion">x</Issuer>'),
    told: "envelope 5305",
  },
  "an unknown element in the Response": { edit: insert("<samlp:Status>", "<samlp:Odd/>"), told: "envelope 5305" },
  "an element of another namespace in the Response": {
    edit: insert("<samlp:Status>", '<o xmlns="urn:odd"/>'),
    told: "envelope 5305",
  },
  "text in the Response": { edit: insert("<samlp:Status>", "text"), told: "envelope 5305" },
  "the Status last": {
    edit: (xml) =>
      xml
        .replace(/<samlp:Status>.*<\/samlp:Status>/s, "")
        .replace(
          "</samlp:Response>",
          `<samlp:Status><samlp:StatusCode Value="${rejected("Success")}"/></samlp:Status></samlp:Response>`,
        ),
    told: "envelope 5305",
  },
  "two Statuses": {
    edit: insert("<samlp:Status>", `<samlp:Status><samlp:StatusCode Value="${rejected("Success")}"/></samlp:Status>`),
    told: "envelope 5305",
  },
  "another document": {
    edit: (xml) => xml.replaceAll("samlp:Response", "samlp:ArtifactResponse"),
    forms: [["Assertion"]],
    told: "envelope 5305",
  },
  "a Response of another namespace": {
    edit: (xml) =>
      xml
        .replace("<samlp:Response ", '<odd:Response xmlns:odd="urn:odd" ')
        .replace("</samlp:Response>", "</odd:Response>"),
    told: "envelope 5305",
  },
  "a Response of the namespace of assertions": {
    edit: (xml) =>
      xml.replace(
        'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"',
        'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:assertion"',
      ),
    told: "envelope 5305",
  },
  "the status Responder": { said: { status: rejected("Responder") }, told: "status 5329" },
  "the status Requester": { said: { status: rejected("Requester") }, told: "status 5329" },
  "a status that begins like Success": { said: { status: rejected("SuccessFul") }, told: "status 5329" },
  "success within a failure": {
    edit: replace(
      /<samlp:StatusCode[^>]*>/,
      `<samlp:StatusCode Value="${rejected("Responder")}"><samlp:StatusCode Value="${rejected("Success")}"/></samlp:StatusCode>`,
    ),
    told: "status 5329",
  },
  "two adjacent codes": {
    edit: insert("</samlp:Status>", `<samlp:StatusCode Value="${rejected("Responder")}"/>`),
    told: "status 5305",
  },
  "a Status without a code": { edit: replace(/<samlp:StatusCode[^>]*>/, ""), told: "status 5305" },
  "the Assertion in Extensions": {
    edit: (xml) => {
      const [assertion = ""] = /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml) ?? [];
      const without = xml.replace(assertion, "");
      return without.replace("<samlp:Status>", `<samlp:Extensions>${assertion}</samlp:Extensions><samlp:Status>`);
    },
    told: "one assertion 5305",
  },
  "an encrypted assertion": {
    edit: (xml) =>
      insert("</samlp:Response>", '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>')(xml),
    told: "one assertion 5328",
  },
  "an Assertion of version 1.1": { said: { assertionVersion: "1.1" }, told: "subject 5305" },
  "an Assertion issued six minutes ago": { said: { assertionIssued: now - 6 * minute }, told: "subject 5305" },
  "an Assertion issued a day ahead": { said: { assertionIssued: now + 1440 * minute }, told: "subject 5305" },
  "another Issuer of the Assertion": { said: { assertionIssuer: "https://evil.example" }, told: "subject 5305" },
  "an Issuer of the Assertion with an extra slash": {
    said: { assertionIssuer: "https://idp.example/entity/" },
    told: "subject 5305",
  },
  "no Issuer of the Assertion": { edit: replace(/<saml:Issuer>[^<]*<\/saml:Issuer>/, ""), told: "subject 5305" },
  "no Subject": { edit: replace(/<saml:Subject>.*<\/saml:Subject>/s, ""), told: "subject 5305" },
  "two Subjects": { edit: (xml) => xml.replace(/<saml:Subject>.*<\/saml:Subject>/s, "$&$&"), told: "subject 5305" },
  "no NameID": { edit: replace(/<saml:NameID.*<\/saml:NameID>/s, ""), told: "subject 5305" },
  "two NameIDs": { edit: replace(/<saml:NameID.*<\/saml:NameID>/s, "$&$&"), told: "subject 5305" },
  "an encrypted NameID": {
    edit: replace(/<saml:NameID.*<\/saml:NameID>/s, "<saml:EncryptedID/>"),
    told: "subject 5328",
  },
  "an encrypted attribute": {
    edit: insert("</saml:AttributeStatement>", "<saml:EncryptedAttribute/>"),
    told: "subject 5328",
  },
  "an empty NameID": { said: { nameId: "" }, told: "subject 5305" },
  "a NameID of 257 characters": { said: { nameId: "a".repeat(257) }, told: "subject 5305" },
  "a NameID with a line break": { said: { nameId: "ada\nroot" }, told: "subject 5305" },
  "a NameID with a space in front": { said: { nameId: " ada" }, told: "subject 5305" },
  "an invisible NameID": { said: { nameId: "\u200b" }, told: "subject 5305" },
  "a NameID with reversed writing": { said: { nameId: "ada\u202e" }, told: "subject 5305" },
  "a NameID of elements": { edit: replace(">ada<", "><b>ada</b><"), told: "subject 5305" },
  "a NameID with an element in it": { edit: replace(">ada<", ">a<b/>da<"), told: "subject 5305" },
  "a NameID of another format": {
    said: { format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" },
    told: "subject 5305",
  },
  "a NameID without a format": { said: { format: undefined }, told: "subject 5305" },
  "a NameID for another service": { said: { spNameQualifier: "https://other.example" }, told: "subject 5305" },
  "no confirmation": {
    edit: replace(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/s, ""),
    told: "confirmation 5305",
  },
  "the method sender-vouches": {
    said: { method: "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches" },
    told: "confirmation 5305",
  },
  "the method holder-of-key": {
    said: { method: "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key" },
    told: "confirmation 5305",
  },
  "another Recipient": { said: { recipient: "https://other.example/acs" }, told: "confirmation 5305" },
  "no Recipient": { said: { recipient: undefined }, told: "confirmation 5305" },
  "a confirmation that has ended": { said: { confirmedUntil: now - 2 * minute }, told: "confirmation 5305" },
  "a confirmation without an end": { said: { confirmedUntil: undefined }, told: "confirmation 5305" },
  "a confirmation with a beginning": { said: { confirmedNotBefore: now - minute }, told: "confirmation 5305" },
  "a confirmation without data": {
    edit: replace(/<saml:SubjectConfirmationData[^>]*>/, ""),
    told: "confirmation 5305",
  },
  "a confirmation with two data elements": {
    edit: replace(/<saml:SubjectConfirmationData[^>]*>/, "$&$&"),
    told: "confirmation 5305",
  },
  "a confirmation for another request": { said: { inResponseTo: "_other" }, told: "confirmation 5305" },
  "a confirmation for no request": { said: { inResponseTo: undefined }, told: "confirmation 5305" },
  "a Response for no request": { said: { responseInResponseTo: undefined }, told: "confirmation 5305" },
  "an Assertion without an ID": {
    edit: replace(' ID="_assertion-1"', ""),
    forms: [["Response"]],
    told: "subject 5305",
  },
  "an Assertion with an ID of 257 characters": { said: { assertionId: "_".padEnd(257, "a") }, told: "subject 5305" },
  "a NameQualifier of 1,025 characters": {
    edit: replace("<saml:NameID ", `<saml:NameID NameQualifier="${"q".repeat(1025)}" `),
    told: "subject 5305",
  },
  "no Conditions": { edit: replace(/<saml:Conditions.*<\/saml:Conditions>/s, ""), told: "subject 5305" },
  "an Assertion that has ended": { said: { notOnOrAfter: now - 2 * minute }, told: "conditions 5305" },
  "an Assertion that has not begun": { said: { notBefore: now + 2 * minute }, told: "conditions 5305" },
  "an Assertion with an invalid end": {
    edit: replace(/NotOnOrAfter="[^"]*"><saml:Aud/, 'NotOnOrAfter="soon"><saml:Aud'),
    told: "conditions 5305",
  },
  "another audience": { said: { audience: "https://other.example" }, told: "conditions 5305" },
  "an audience with an extra slash": { said: { audience: `${entityId}/` }, told: "conditions 5305" },
  "no audience": {
    edit: replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/s, ""),
    told: "conditions 5305",
  },
  "a second restriction to another audience": {
    edit: insert(
      "</saml:Conditions>",
      "<saml:AudienceRestriction><saml:Audience>https://other.example</saml:Audience></saml:AudienceRestriction>",
    ),
    told: "conditions 5305",
  },
  "an unknown condition": { edit: insert("</saml:Conditions>", "<saml:Condition/>"), told: "conditions 5305" },
  "a condition of another namespace": {
    edit: insert("</saml:Conditions>", '<OneTimeUse xmlns="urn:odd"/>'),
    told: "conditions 5305",
  },
  "no AuthnStatement": {
    edit: replace(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/s, ""),
    told: "authn statement 5311",
  },
  "two AuthnStatements": {
    edit: replace(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/s, "$&$&"),
    told: "authn statement 5311",
  },
  "an AuthnStatement without a time": { edit: replace(/ AuthnInstant="[^"]*"/, ""), told: "authn statement 5305" },
  "an AuthnStatement of tomorrow": { said: { authnInstant: now + 1440 * minute }, told: "authn statement 5305" },
  "a session that has ended": { said: { sessionNotOnOrAfter: now - 2 * minute }, told: "authn statement 5305" },
  "a session with an invalid end": {
    edit: replace(/SessionNotOnOrAfter="[^"]*"/, 'SessionNotOnOrAfter="x"'),
    told: "authn statement 5305",
  },
  "an index of 257 characters": { said: { sessionIndex: "i".repeat(257) }, told: "authn statement 5305" },
  "a login before the request, where it must be new": {
    said: { authnInstant: now - 3 * minute },
    route: { forceAuthn: true },
    told: "authn statement 5305",
  },
  "another request": { said: { inResponseTo: "_other", responseInResponseTo: "_other" }, told: "request 5305" },
  "an empty request": { said: { inResponseTo: "", responseInResponseTo: "" }, told: "request 5305" },
  "no admitted group": { route: { authorizedGroups: ["others"] }, told: "groups 5312" },
  "no group at all": { said: { attributes: {} }, route: { authorizedGroups: ["staff"] }, told: "groups 5312" },
};

describe("a signed response", () => {
  for (const [name, { said, edit = (xml: string) => xml, forms, route, told: expected }] of Object.entries(wrong)) {
    it(`I4: a signed response is rejected with ${name}`, async () => {
      for (const parts of forms ?? signedForms) {
        const signed = signParts(edit(responseXml(honest(said))), parts, signing);
        assert.equal(told(await bring(idp, signed, route)), expected, parts.join());
      }
    });
  }

  it("a signed response is accepted at the limits of its values", async () => {
    const taken = async (said: Partial<Said>, route: Partial<ResponseInput> = {}, edit = (xml: string) => xml) => {
      const xml = signParts(edit(responseXml(honest(said))), ["Assertion"], signing);
      assert.equal(told(await bring(idp, xml, route)), `in: ${said.nameId ?? "ada"}`, JSON.stringify(said));
    };
    await taken({ responseIssuer: undefined, destination: undefined });
    await taken({ responseIssued: now - 5 * minute, assertionIssued: now + 5 * minute });
    await taken({
      confirmedUntil: now - minute + 1,
      notOnOrAfter: now - minute + 1,
      sessionNotOnOrAfter: now - minute + 1,
    });
    await taken({ notBefore: now + minute });
    await taken({
      notBefore: undefined,
      notOnOrAfter: undefined,
      sessionNotOnOrAfter: undefined,
      sessionIndex: undefined,
    });
    await taken({ spNameQualifier: entityId, nameId: "CN=Ada Löwe, O=Example" });
    await taken({ nameId: "🦀".repeat(128) });
    await taken({ authnInstant: now - 2 * minute }, { forceAuthn: true });
    await taken({ authnInstant: now - 600 * minute });
    await taken({}, {}, insert("</saml:Conditions>", "<saml:OneTimeUse/><saml:ProxyRestriction/>"));
    const another =
      '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData Recipient="https://evil.example/"/></saml:SubjectConfirmation>';
    await taken({}, {}, insert("</saml:Subject>", another));
    await taken({}, {}, insert("<saml:SubjectConfirmation ", another));
    await taken({}, {}, insert("<saml:Audience>", "<saml:Audience>https://other.example</saml:Audience>"));
    await taken(
      {},
      {},
      insert(
        "<saml:SubjectConfirmation ",
        '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"/>',
      ),
    );
  });

  it("I4: a signed response is rejected if the Response is signed and has no Destination", async () => {
    for (const parts of signedForms.slice(1)) {
      assert.equal(
        told(await bring(idp, signedResponse(honest({ destination: undefined }), parts, signing))),
        "envelope 5305",
      );
    }
  });

  it("I4: a signed response does not admit the visitor a second time", async () => {
    const xml = signedResponse(honest(), ["Assertion"], signing);
    const input = inputFor(idp, formBody("SAMLResponse", xml, relayState()));
    const host = freshHost();
    assert.equal(told(await verifyResponse(input, host)), "in: ada");
    assert.equal(told(await verifyResponse(input, host)), "replay 5305");
  });
});

describe("RelayState of a response", () => {
  const xml = signedResponse(honest(), ["Assertion"], signing);
  const come = async (relay: string | undefined, change: Partial<ResponseInput> = {}) =>
    told(await verifyResponse(inputFor(idp, formBody("SAMLResponse", xml, relay), change), freshHost()));
  const made = (to: {
    purpose?: "login" | "logout";
    routeId?: string;
    sentMs?: number;
    flowId?: string;
    key?: Buffer;
  }) =>
    makeRelay(
      { flowId: to.flowId ?? flowId, host: "abc123", sentMs: to.sentMs ?? now },
      { purpose: to.purpose ?? "login", routeId: to.routeId ?? routeId },
      to.key ?? relayKey,
    );

  it("I4: RelayState of a response must match the value sent for this flow and route, at most 15 minutes ago", async () => {
    assert.equal(await come(made({})), "in: ada");
    assert.equal(await come(made({ sentMs: now - 15 * minute })), "in: ada");
    assert.equal(await come(made({ sentMs: now - 15 * minute - 1000 })), "request 5313");
    assert.equal(await come(made({ sentMs: now + 2 * minute })), "request 5300");
    assert.equal(await come(made({ flowId: "0".repeat(22) })), "request 5305");
    assert.equal(await come(made({ routeId: "edghtsrt_other" })), "request 5300");
    assert.equal(await come(made({ purpose: "logout" })), "request 5300");
    assert.equal(await come(made({ key: Buffer.alloc(32, 8) })), "request 5300");
    assert.equal(await come(undefined), "request 5300");
    assert.equal(await come("https://app.tunnel.example/"), "request 5300");
  });

  it("I4: RelayState of a response is rejected if any character is changed, removed or added", async () => {
    const relay = made({});
    for (let at = 0; at < relay.length; at += 1) {
      const other = relay[at] === "a" ? "b" : "a";
      for (const text of [
        relay.slice(0, at) + other + relay.slice(at + 1),
        relay.slice(0, at) + relay.slice(at + 1),
        `${relay.slice(0, at)}a${relay.slice(at)}`,
      ]) {
        if (text !== relay) assert.equal(await come(text), "request 5300", text);
      }
    }
  });

  it("RelayState of a response is accepted under earlier keys", async () => {
    const relayKeys = [Buffer.alloc(32, 9), relayKey].map((key) => key.toString("base64"));
    assert.equal(await come(made({}), { relayKeys }), "in: ada");
    assert.equal(await come(made({}), { relayKeys: relayKeys.slice(0, 1) }), "request 5300");
    assert.equal(await come(made({}), { relayKeys: [] }), "request 5300");
  });
});
