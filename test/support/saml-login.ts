/** The return of a SAML login: what the route knows, and what an honest provider sends. */
import { readIdpMetadata } from "../../src/identity/saml/metadata/read-metadata.ts";
import type { IdpMetadata } from "../../src/identity/saml/metadata/idp-metadata.ts";
import { makeRelay, requestIdOf } from "../../src/identity/saml/requests/relay.ts";
import { makeUsedMessages } from "../../src/identity/saml/used-messages.ts";
import { verifyResponse } from "../../src/identity/saml/response/checks/verify-response.ts";
import type { ResponseOutcome } from "../../src/identity/saml/response/checks/verify-response.ts";
import type { ResponseHost, ResponseInput } from "../../src/identity/saml/response/work.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { derOf, formBody, idpEntityId, metadataXml, persistent, responseXml, signXml } from "./saml-idp.ts";
import type { Said, Signing } from "./saml-idp.ts";

export const now = Date.UTC(2027, 2, 4, 12, 0, 0);
export const minute = 60_000;
export const routeId = "edghtsrt_2test";
export const entityId = `https://idp.tunnel.example/saml/${routeId}`;
export const acsUrl = `${entityId}/acs`;
export const sloUrl = `${entityId}/slo`;
export const relayKey = Buffer.alloc(32, 7);
export const flowId = "abcdefghijklmnopqrstuv";

export type SignedPart = "Assertion" | "Response";
/** Combinations of signed parts. The Assertion is signed before the Response around it. */
export const signedForms: readonly (readonly SignedPart[])[] = [["Assertion"], ["Response"], ["Assertion", "Response"]];

/** Returns an honest response to the login. */
export function honest(change: Partial<Said> = {}): Said {
  const requestId = requestIdOf({ flowId, host: "abc123" }, { purpose: "login", routeId }, relayKey);
  return {
    responseId: "_response-1",
    assertionId: "_assertion-1",
    responseVersion: "2.0",
    assertionVersion: "2.0",
    responseIssued: now,
    assertionIssued: now,
    destination: acsUrl,
    responseIssuer: idpEntityId,
    assertionIssuer: idpEntityId,
    responseInResponseTo: requestId,
    inResponseTo: requestId,
    status: "urn:oasis:names:tc:SAML:2.0:status:Success",
    nameId: "ada",
    format: persistent,
    spNameQualifier: undefined,
    method: "urn:oasis:names:tc:SAML:2.0:cm:bearer",
    recipient: acsUrl,
    confirmedNotBefore: undefined,
    confirmedUntil: now + 5 * minute,
    notBefore: now - minute,
    notOnOrAfter: now + 5 * minute,
    audience: entityId,
    authnInstant: now,
    sessionNotOnOrAfter: now + 480 * minute,
    sessionIndex: "session-1",
    attributes: { email: ["Ada@Example.com"], displayName: ["Ada Löwe"], groups: ["staff", "admins"] },
    ...change,
  };
}

export function metadataOf(...keys: readonly KeyedCertificate[]): IdpMetadata {
  const text = metadataXml({
    certificates: keys.map(({ certificatePem }) => derOf(certificatePem)),
    redirect: "https://idp.example/sso",
    logout: "https://idp.example/slo",
  });
  const read = readIdpMetadata(text, now);
  if ("refused" in read) throw new Error(read.refused.reason);
  return read.metadata;
}

export function inputFor(idp: IdpMetadata, form: string, change: Partial<ResponseInput> = {}): ResponseInput {
  return {
    form,
    routeId,
    entityId,
    acsUrl,
    idp,
    nameIdFormat: persistent,
    authorizedGroups: [],
    allowIdpInitiated: false,
    forceAuthn: false,
    relayKeys: [relayKey.toString("base64")],
    nowMs: now,
    skewMs: minute,
    ...change,
  };
}

export function relayState(sentMs = now - minute): string {
  return makeRelay({ flowId, host: "abc123", sentMs }, { purpose: "login", routeId }, relayKey);
}

/** Returns the Response with its parts signed one after another. */
export function signParts(xml: string, parts: readonly SignedPart[], signing: Signing): string {
  return parts.reduce((one, part) => signXml(one, part, signing), xml);
}

export function signedResponse(said: Said, parts: readonly SignedPart[], signing: Signing): string {
  return signParts(responseXml(said), parts, signing);
}

/** Returns a host without other routes and without earlier messages. */
export function freshHost(): ResponseHost {
  const used = makeUsedMessages(1000);
  return {
    leadsHere: (url) => Promise.resolve(url.startsWith("https://app.tunnel.example/")),
    claim: ({ messageId, untilMs }) => Promise.resolve(used.claim(messageId, untilMs, now)),
  };
}

/** Returns the outcome for a document that the browser posts. */
export function bring(idp: IdpMetadata, xml: string, change: Partial<ResponseInput> = {}): Promise<ResponseOutcome> {
  return verifyResponse(inputFor(idp, formBody("SAMLResponse", xml, relayState()), change), freshHost());
}

/** Returns the failed check with its code, or the admitted person. */
export function told(outcome: ResponseOutcome): string {
  return "refused" in outcome
    ? `${outcome.check} ${outcome.refused.code.replace("ERR_POSTERN_", "")}`
    : `in: ${outcome.identity.nameId}`;
}
