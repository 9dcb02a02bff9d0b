/** A login and a logout with samlify, an independent identity provider. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeLogoutRequest } from "../../src/identity/saml/logout/make-logout.ts";
import { verifyLogout } from "../../src/identity/saml/logout/verify-logout.ts";
import { readIdpMetadata } from "../../src/identity/saml/metadata/read-metadata.ts";
import { writeSpMetadata } from "../../src/identity/saml/metadata/write-metadata.ts";
import { makeAuthnRequest } from "../../src/identity/saml/requests/authn-request.ts";
import { verifyResponse } from "../../src/identity/saml/response/checks/verify-response.ts";
import { writeInstant } from "../../src/identity/saml/instant.ts";
import { formBody, makeProviderKeys, persistent } from "../support/saml-idp.ts";
import { asRequest, makeSamlifyIdp, samlify } from "../support/samlify.ts";
import {
  acsUrl,
  entityId,
  flowId,
  freshHost,
  inputFor,
  minute,
  relayKey,
  routeId,
  sloUrl,
  told,
} from "../support/saml-login.ts";

const theirs = await makeProviderKeys();
const own = await makeProviderKeys();
const now = Math.floor(Date.now() / 1000) * 1000;

const { body } = writeSpMetadata({
  entityId,
  acsUrl,
  sloUrl,
  nameIdFormat: persistent,
  signingCertificates: [own.certificatePem],
});

describe("samlify as the identity provider", () => {
  const idp = makeSamlifyIdp(theirs);
  const sp = samlify.ServiceProvider({
    metadata: body,
    wantMessageSigned: false,
    wantLogoutRequestSigned: true,
    wantLogoutResponseSigned: true,
  });
  const read = readIdpMetadata(idp.getMetadata(), now);
  assert.ok("metadata" in read);
  const flow = {
    routeId,
    entityId,
    idp: read.metadata,
    signingKeyPem: own.keyPem,
    flowId,
    host: "abc123",
    relayKey: relayKey.toString("base64"),
    nowMs: now,
  };

  it("samlify as the identity provider accepts our request, and we accept its response", async () => {
    const outgoing = makeAuthnRequest({ ...flow, acsUrl, nameIdFormat: persistent, forceAuthn: false });
    const parsed = await idp.parseLoginRequest(sp, "redirect", asRequest(outgoing.url));
    assert.equal(parsed.extract.issuer, entityId);
    const sent = await idp.createLoginResponse(
      sp,
      parsed,
      "post",
      {},
      {
        customTagReplacement: (template: string) => ({
          id: "_response",
          context: samlify.SamlLib.replaceTagsByValue(template, {
            ID: "_response",
            AssertionID: "_assertion",
            IssueInstant: writeInstant(now),
            Until: writeInstant(now + 5 * minute),
            Destination: acsUrl,
            InResponseTo: parsed.extract.request?.id,
            Issuer: "https://samlify.example",
            StatusCode: "urn:oasis:names:tc:SAML:2.0:status:Success",
            NameIDFormat: persistent,
            NameID: "ada",
            Audience: entityId,
          }),
        }),
      },
    );
    const xml = Buffer.from(sent.context, "base64").toString();
    const relay = new URL(outgoing.url).searchParams.get("RelayState") ?? "";
    const input = { ...inputFor(read.metadata, formBody("SAMLResponse", xml, relay)), nowMs: now };
    assert.equal(told(await verifyResponse(input, freshHost())), "in: ada");
  });

  it("samlify as the identity provider accepts our logout", async () => {
    const name = { nameId: "ada", format: persistent };
    const outgoing = makeLogoutRequest({ ...flow, name, sessionIndex: "s1" });
    assert.ok(outgoing);
    const parsed = await idp.parseLogoutRequest(sp, "redirect", asRequest(outgoing.url));
    assert.equal(parsed.extract.nameID, "ada");
    const answer = idp.createLogoutResponse(sp, parsed, "redirect", {
      relayState: new URL(outgoing.url).searchParams.get("RelayState"),
    });
    const delivery = { binding: "redirect", query: answer.context.slice(answer.context.indexOf("?") + 1) } as const;
    const outcome = await verifyLogout(
      { ...flow, delivery, sloUrl, nameIdFormat: persistent, relayKeys: [flow.relayKey], skewMs: minute },
      freshHost().claim,
    );
    assert.deepEqual(outcome, { response: { flowId, host: "abc123", ended: "all" } });
  });

  it("samlify as the identity provider ends our sessions", async () => {
    const sent = idp.createLogoutRequest(sp, "redirect", { logoutNameID: "ada", sessionIndex: "s1" }, {});
    const delivery = { binding: "redirect", query: sent.context.slice(sent.context.indexOf("?") + 1) } as const;
    const outcome = await verifyLogout(
      { ...flow, delivery, sloUrl, nameIdFormat: persistent, relayKeys: [], skewMs: minute },
      freshHost().claim,
    );
    assert.ok("request" in outcome, JSON.stringify(outcome));
    assert.deepEqual([outcome.request.name.nameId, outcome.request.sessionIndexes], ["ada", ["s1"]]);
  });
});
