/** Messages of a SAML identity provider, written and signed (saml-core-2.0-os). */
import { hash, randomBytes } from "node:crypto";
import { writeInstant } from "../identity/saml/instant.ts";
import { bearer, bindings, ds, md, saml, samlp, status } from "../identity/saml/xml-names.ts";
import { signEnveloped } from "../identity/saml/signature/sign.ts";
import { writeElement } from "../identity/saml/xml/write.ts";
import type { Markup } from "../identity/saml/xml/write.ts";
import type { SignIn } from "./sign-ins.ts";
import type { SigningKey } from "./signing-key.ts";

/** Sender and time of a message. */
export interface Writer {
  readonly entityId: string;
  readonly key: SigningKey;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Request and recipient of a response. */
export interface Addressed {
  /** Id of the request; undefined for a login that no service requested. */
  readonly id: string | undefined;
  /** Entity id of the service. */
  readonly service: string;
  /** URL to which the response is sent. */
  readonly url: string;
}

const goodMs = 5 * 60_000;
const responder = "urn:oasis:names:tc:SAML:2.0:status:Responder";
const persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const unspecified = "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified";

/** saml-metadata §2.4.3. */
export function idpMetadata(issuer: string, entityId: string, keys: readonly SigningKey[]): string {
  const service = (name: string, path: string): Markup[] =>
    (["redirect", "post"] as const).map((binding) =>
      writeElement(name, { Binding: bindings[binding], Location: issuer + path }),
    );
  const descriptors = keys.map(({ certificate }) => {
    const data = writeElement("ds:X509Data", {}, writeElement("ds:X509Certificate", {}, certificate));
    return writeElement("md:KeyDescriptor", { use: "signing" }, writeElement("ds:KeyInfo", { "xmlns:ds": ds }, data));
  });
  return writeElement(
    "md:EntityDescriptor",
    { "xmlns:md": md, entityID: entityId },
    writeElement(
      "md:IDPSSODescriptor",
      { protocolSupportEnumeration: samlp },
      ...descriptors,
      ...service("md:SingleLogoutService", "/saml/slo"),
      ...service("md:SingleSignOnService", "/saml/sso"),
    ),
  ).xml;
}

/** Returns a signed Response (§3.3.3) with a signed Assertion, or with an error status. */
export function writeSignedResponse(writer: Writer, to: Addressed, signIn: SignIn | undefined): Markup {
  const message = writeElement(
    "samlp:Response",
    { ...messageAttributes(writer.now), Destination: to.url, InResponseTo: to.id },
    writeElement("saml:Issuer", {}, writer.entityId),
    statusOf(signIn ? status.success : responder),
    signIn && signEnveloped(writeAssertion(writer, to, signIn), writer.key.keyPem),
  );
  return signEnveloped(message, writer.key.keyPem);
}

/** §3.7.1; unsigned, because the binding adds the signature. */
export function logoutRequest(writer: Writer, url: string, { person, id }: SignIn): Markup {
  return writeElement(
    "samlp:LogoutRequest",
    { ...messageAttributes(writer.now), Destination: url, NotOnOrAfter: writeInstant(writer.now + goodMs) },
    writeElement("saml:Issuer", {}, writer.entityId),
    writeElement("saml:NameID", { Format: persistent }, person.id),
    writeElement("samlp:SessionIndex", {}, indexOf(id)),
  );
}

/** §3.7.2; unsigned. */
export function logoutResponse(writer: Writer, url: string, inResponseTo: string | undefined): Markup {
  return writeElement(
    "samlp:LogoutResponse",
    { ...messageAttributes(writer.now), Destination: url, InResponseTo: inResponseTo },
    writeElement("saml:Issuer", {}, writer.entityId),
    statusOf(status.success),
  );
}

function writeAssertion({ entityId, now }: Writer, { id, url, service }: Addressed, signIn: SignIn): Markup {
  const until = writeInstant(now + goodMs);
  const { person } = signIn;
  const confirmation = { Recipient: url, NotOnOrAfter: until, InResponseTo: id };
  return writeElement(
    "saml:Assertion",
    messageAttributes(now),
    writeElement("saml:Issuer", {}, entityId),
    writeElement(
      "saml:Subject",
      {},
      writeElement("saml:NameID", { Format: persistent }, person.id),
      writeElement(
        "saml:SubjectConfirmation",
        { Method: bearer },
        writeElement("saml:SubjectConfirmationData", confirmation),
      ),
    ),
    writeElement(
      "saml:Conditions",
      { NotBefore: writeInstant(now), NotOnOrAfter: until },
      writeElement("saml:AudienceRestriction", {}, writeElement("saml:Audience", {}, service)),
    ),
    writeElement(
      "saml:AuthnStatement",
      { AuthnInstant: writeInstant(signIn.at), SessionIndex: indexOf(signIn.id) },
      writeElement("saml:AuthnContext", {}, writeElement("saml:AuthnContextClassRef", {}, unspecified)),
    ),
    writeElement(
      "saml:AttributeStatement",
      {},
      writeAttribute("name", [person.name]),
      writeAttribute("email", person.email === "" ? [] : [person.email]),
      writeAttribute("groups", person.groups),
    ),
  );
}

function writeAttribute(name: string, values: readonly string[]): Markup | undefined {
  if (values.length === 0) return undefined;
  return writeElement(
    "saml:Attribute",
    { Name: name },
    ...values.map((value) => writeElement("saml:AttributeValue", {}, value)),
  );
}

function statusOf(code: string): Markup {
  return writeElement("samlp:Status", {}, writeElement("samlp:StatusCode", { Value: code }));
}

function messageAttributes(now: number): Readonly<Record<string, string>> {
  const id = `_${randomBytes(20).toString("hex")}`;
  return { "xmlns:samlp": samlp, "xmlns:saml": saml, ID: id, Version: "2.0", IssueInstant: writeInstant(now) };
}

/** Returns an id of the session for services, which cannot be used as the cookie. */
function indexOf(id: string): string {
  return `_${hash("sha256", id).slice(0, 32)}`;
}
