/**
 * A SAML identity provider for tests. It builds its XML from texts, and xml-crypto signs it. It shares no code with the
 * tested code.
 */
import { createSign } from "node:crypto";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import type { KeyType, KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { SignedXml } from "./xml-crypto.ts";

export const algorithms = {
  rsaSha256: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  rsaSha1: "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
  rsaSha512: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
  ecdsaSha256: "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
  hmacSha1: "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
  sha1: "http://www.w3.org/2000/09/xmldsig#sha1",
  sha256: "http://www.w3.org/2001/04/xmlenc#sha256",
  sha512: "http://www.w3.org/2001/04/xmlenc#sha512",
  enveloped: "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
  exclusive: "http://www.w3.org/2001/10/xml-exc-c14n#",
  exclusiveWithComments: "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
  inclusive: "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
} as const;

export const idpEntityId = "https://idp.example/entity";
export const persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** Content of the provider's message; undefined omits a part. Times are milliseconds since 1970. */
export interface Said {
  readonly responseId: string;
  readonly assertionId: string;
  readonly responseVersion: string;
  readonly assertionVersion: string;
  readonly responseIssued: number;
  readonly assertionIssued: number;
  readonly destination: string | undefined;
  readonly responseIssuer: string | undefined;
  readonly assertionIssuer: string;
  readonly responseInResponseTo: string | undefined;
  readonly inResponseTo: string | undefined;
  readonly status: string;
  readonly nameId: string;
  readonly format: string | undefined;
  readonly spNameQualifier: string | undefined;
  readonly method: string;
  readonly recipient: string | undefined;
  readonly confirmedNotBefore: number | undefined;
  readonly confirmedUntil: number | undefined;
  readonly notBefore: number | undefined;
  readonly notOnOrAfter: number | undefined;
  readonly audience: string;
  readonly authnInstant: number;
  readonly sessionNotOnOrAfter: number | undefined;
  readonly sessionIndex: string | undefined;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

export interface Signing {
  readonly key: string;
  readonly algorithm?: string;
  readonly digest?: string;
  readonly c14n?: string;
  readonly transforms?: readonly string[];
  /** The certificate in KeyInfo. */
  readonly shown?: string;
}

export function makeProviderKeys(keyType: KeyType = "rsa", days = 3650): Promise<KeyedCertificate> {
  return createSelfSigned({ names: ["idp.example"], now: Date.UTC(2026, 0, 1), days, keyType });
}

export function derOf(certificatePem: string): string {
  return certificatePem.replace(/-----[^-]+-----|\s/g, "");
}

const time = (ms: number): string => new Date(ms).toISOString();
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Returns the attributes of a tag. */
function list(values: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escaped(value as string)}"`)
    .join("");
}

const at = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : time(ms));

/** Returns an unsigned Response. Like providers, it declares namespaces on each message's own root. */
export function responseXml(said: Said): string {
  const attributes = Object.entries(said.attributes)
    .map(
      ([name, values]) =>
        `<saml:Attribute${list({ Name: name })}>${values
          .map((value) => `<saml:AttributeValue xsi:type="xs:string">${escaped(value)}</saml:AttributeValue>`)
          .join("")}</saml:Attribute>`,
    )
    .join("");
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"${list({
    ID: said.responseId,
    Version: said.responseVersion,
    IssueInstant: time(said.responseIssued),
    Destination: said.destination,
    InResponseTo: said.responseInResponseTo,
  })}>${
    said.responseIssuer === undefined
      ? ""
      : `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${escaped(said.responseIssuer)}</saml:Issuer>`
  }<samlp:Status>
  <samlp:StatusCode${list({ Value: said.status })}/>
</samlp:Status><saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"${list(
    { ID: said.assertionId, Version: said.assertionVersion, IssueInstant: time(said.assertionIssued) },
  )}><saml:Issuer>${escaped(said.assertionIssuer)}</saml:Issuer>
<saml:Subject>
  <saml:NameID${list({ Format: said.format, SPNameQualifier: said.spNameQualifier })}>${escaped(said.nameId)}</saml:NameID>
  <saml:SubjectConfirmation${list({ Method: said.method })}><saml:SubjectConfirmationData${list({
    Recipient: said.recipient,
    NotBefore: at(said.confirmedNotBefore),
    NotOnOrAfter: at(said.confirmedUntil),
    InResponseTo: said.inResponseTo,
  })}/></saml:SubjectConfirmation>
</saml:Subject>
<saml:Conditions${list({ NotBefore: at(said.notBefore), NotOnOrAfter: at(said.notOnOrAfter) })}><saml:AudienceRestriction><saml:Audience>${escaped(
    said.audience,
  )}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement${list({
    AuthnInstant: time(said.authnInstant),
    SessionNotOnOrAfter: at(said.sessionNotOnOrAfter),
    SessionIndex: said.sessionIndex,
  })}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement>${attributes}</saml:AttributeStatement></saml:Assertion></samlp:Response>`;
}

/** xml-crypto does not support ECDSA. */
class EcdsaSha256 {
  getSignature = (data: unknown, key: unknown): string =>
    createSign("sha256")
      .update(data as string)
      .sign({ key: key as string, dsaEncoding: "ieee-p1363" }, "base64");
  verifySignature = (): boolean => false;
  getAlgorithmName = (): string => algorithms.ecdsaSha256;
}

/** Signs the first element with this name. The signature follows its Issuer, or comes first if it has no Issuer. */
export function signXml(xml: string, local: string, signing: Signing): string {
  const path = `//*[local-name(.)='${local}']`;
  const { c14n = algorithms.exclusive } = signing;
  const signed = new SignedXml({
    privateKey: signing.key,
    signatureAlgorithm: signing.algorithm ?? algorithms.rsaSha256,
    canonicalizationAlgorithm: c14n,
    ...(signing.shown !== undefined && { publicCert: signing.shown }),
  });
  if (signing.shown === undefined) signed.getKeyInfoContent = () => null;
  signed.SignatureAlgorithms[algorithms.ecdsaSha256] = EcdsaSha256;
  if (signing.algorithm === algorithms.hmacSha1) signed.enableHMAC();
  signed.addReference({
    xpath: path,
    transforms: [...(signing.transforms ?? [algorithms.enveloped, algorithms.exclusive])],
    digestAlgorithm: signing.digest ?? algorithms.sha256,
  });
  const issuer = `${path}/*[local-name(.)='Issuer']`;
  const hasIssuer = new RegExp(`<(?:\\w+:)?${local}[ >][^>]*>\\s*<(?:\\w+:)?Issuer`).test(xml);
  signed.computeSignature(xml, {
    prefix: "ds",
    location: hasIssuer ? { reference: issuer, action: "after" } : { reference: path, action: "prepend" },
  });
  return signed.getSignedXml();
}

/** Returns the body that the browser posts. */
export function formBody(field: "SAMLResponse" | "SAMLRequest", xml: string, relayState?: string): string {
  const encoded = encodeURIComponent(Buffer.from(xml).toString("base64"));
  return `${field}=${encoded}${relayState === undefined ? "" : `&RelayState=${encodeURIComponent(relayState)}`}`;
}

export interface MetadataOptions {
  readonly certificates: readonly string[];
  readonly entityId?: string;
  readonly redirect?: string | undefined;
  readonly post?: string | undefined;
  readonly logout?: string | undefined;
  readonly attributes?: string;
}

export function metadataXml(options: MetadataOptions): string {
  const service = (name: string, binding: string, location: string | undefined): string =>
    location === undefined
      ? ""
      : `<md:${name} Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${escaped(location)}"/>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- of the tests -->
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${escaped(options.entityId ?? idpEntityId)}"${options.attributes ?? ""}>
  <md:IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    ${options.certificates
      .map(
        (
          one,
        ) => `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>
${one.replace(/.{64}/g, "$&\n")}
</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
      )
      .join("")}
    ${service("SingleLogoutService", "HTTP-Redirect", options.logout)}
    <md:NameIDFormat>${persistent}</md:NameIDFormat>
    ${service("SingleSignOnService", "HTTP-Redirect", options.redirect)}
    ${service("SingleSignOnService", "HTTP-POST", options.post)}
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`;
}
