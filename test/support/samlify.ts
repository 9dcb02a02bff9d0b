/** samlify, an independent implementation, as an identity provider. */
import { createRequire } from "node:module";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { persistent } from "./saml-idp.ts";

interface Extracted {
  readonly extract: { readonly request?: { readonly id: string }; readonly nameID?: string; readonly issuer?: string };
}

interface Sent {
  readonly context: string;
}

export interface SamlifyIdp {
  getMetadata(): string;
  parseLoginRequest(sp: object, binding: string, request: object): Promise<Extracted>;
  createLoginResponse(sp: object, request: object, binding: string, user: object, options: object): Promise<Sent>;
  parseLogoutRequest(sp: object, binding: string, request: object): Promise<Extracted>;
  createLogoutResponse(sp: object, request: object, binding: string, options: object): Sent;
  createLogoutRequest(sp: object, binding: string, user: object, options: object): Sent;
}

const redirect = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
const require = createRequire(import.meta.url);
export const samlify = require("samlify") as {
  setSchemaValidator(validator: object): void;
  readonly SamlLib: { replaceTagsByValue(template: string, values: object): string };
  readonly IdentityProvider: (settings: object) => SamlifyIdp;
  readonly ServiceProvider: (settings: object) => object;
};
samlify.setSchemaValidator({ validate: () => Promise.resolve("not looked at") });

const response = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="{ID}" Version="2.0" IssueInstant="{IssueInstant}" Destination="{Destination}" InResponseTo="{InResponseTo}"><saml:Issuer>{Issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="{StatusCode}"/></samlp:Status><saml:Assertion ID="{AssertionID}" Version="2.0" IssueInstant="{IssueInstant}"><saml:Issuer>{Issuer}</saml:Issuer><saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{Until}" Recipient="{Destination}" InResponseTo="{InResponseTo}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="{IssueInstant}" NotOnOrAfter="{Until}"><saml:AudienceRestriction><saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="{IssueInstant}" SessionIndex="s1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement></saml:Assertion></samlp:Response>`;

export const makeSamlifyIdp = (theirs: KeyedCertificate): SamlifyIdp =>
  samlify.IdentityProvider({
    entityID: "https://samlify.example",
    privateKey: theirs.keyPem,
    signingCert: theirs.certificatePem,
    requestSignatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    wantAuthnRequestsSigned: true,
    wantLogoutRequestSigned: true,
    wantLogoutResponseSigned: true,
    nameIDFormat: [persistent],
    singleSignOnService: [{ Binding: redirect, Location: "https://samlify.example/sso" }],
    singleLogoutService: [{ Binding: redirect, Location: "https://samlify.example/slo" }],
    loginResponseTemplate: { context: response, attributes: [] },
  });

/** Returns a query in the form that samlify requires. */
export function asRequest(url: string): object {
  const query = Object.fromEntries(new URL(url).searchParams);
  const octets = url.slice(url.indexOf("?") + 1).split("&Signature=")[0];
  return { query, octetString: octets };
}
