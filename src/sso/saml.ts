/** The development identity provider by SAML 2.0: both bindings, logins that begin here, single log-out. */
import { randomBytes } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { Lru } from "../lib/lru.ts";
import { writeInstant } from "../identity/saml/instant.ts";
import { bearer, bindings, ds, md, saml, samlp, status } from "../identity/saml/names.ts";
import { signEnveloped } from "../identity/saml/signature/sign.ts";
import { sendTo } from "../identity/saml/transport/outgoing.ts";
import type { MessageField } from "../identity/saml/transport/outgoing.ts";
import { attributeOf, elementsIn, isNamed, textIn, XmlIssue } from "../identity/saml/xml/element.ts";
import type { XmlElement } from "../identity/saml/xml/element.ts";
import { readXml } from "../identity/saml/xml/read.ts";
import { element } from "../identity/saml/xml/write.ts";
import type { Markup } from "../identity/saml/xml/write.ts";
import { postPage } from "./pages.ts";
import type { Services } from "./provider.ts";
import { plain, seeOther } from "./reply.ts";
import type { Asked, Reply } from "./reply.ts";
import { newToken } from "./sign-ins.ts";
import type { SignIn } from "./sign-ins.ts";

export interface Saml {
  readonly metadata: () => string;
  /** Entity ids of services that have asked. */
  readonly services: () => readonly string[];
  /** Sends the browser to the next service that has to hear of the end; undefined when all have. */
  leave(signIn: SignIn): Reply | undefined;
  /** Undefined: not a path of it. */
  answer(asked: Asked): Reply | undefined;
}

interface Request {
  readonly id: string | undefined;
  readonly service: string;
  /** Where the answer goes. */
  readonly url: string;
  readonly relayState: string | undefined;
  readonly anew: boolean;
}

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 500, maxAttributes: 32 };
const goodMs = 5 * 60_000;
const maxServices = 100;
const namespaces = { "xmlns:samlp": samlp, "xmlns:saml": saml };

export function makeSaml({ issuer, now, keys, signIns, ours }: Services): Saml {
  const entityId = `${issuer}/saml/metadata`;
  /** Where the answers of each service go, by its entity id. */
  const consumers = new Lru<string, string>(maxServices);
  const known: string[] = [];
  /** Ends of which not all services have heard, by the RelayState under way. */
  const leaving = new Lru<string, SignIn>(maxServices);
  const head = () => ({
    ID: `_${randomBytes(20).toString("hex")}`,
    Version: "2.0",
    IssueInstant: writeInstant(now()),
  });

  const metadata = (): string =>
    element(
      "md:EntityDescriptor",
      { "xmlns:md": md, entityID: entityId },
      element(
        "md:IDPSSODescriptor",
        { protocolSupportEnumeration: samlp },
        ...keys
          .published()
          .map(({ certificate }) =>
            element(
              "md:KeyDescriptor",
              { use: "signing" },
              element(
                "ds:KeyInfo",
                { "xmlns:ds": ds },
                element("ds:X509Data", {}, element("ds:X509Certificate", {}, certificate)),
              ),
            ),
          ),
        ...(["redirect", "post"] as const).map((binding) =>
          element("md:SingleLogoutService", { Binding: bindings[binding], Location: `${issuer}/saml/slo` }),
        ),
        ...(["redirect", "post"] as const).map((binding) =>
          element("md:SingleSignOnService", { Binding: bindings[binding], Location: `${issuer}/saml/sso` }),
        ),
      ),
    ).xml;

  const respond = (request: Request, signIn: SignIn | "denied" | "failed"): Reply => {
    const isGood = typeof signIn !== "string";
    const code = isGood ? status.success : "urn:oasis:names:tc:SAML:2.0:status:Responder";
    const message = element(
      "samlp:Response",
      { ...namespaces, ...head(), Destination: request.url, InResponseTo: request.id },
      element("saml:Issuer", {}, entityId),
      element("samlp:Status", {}, element("samlp:StatusCode", { Value: code })),
      isGood ? signEnveloped(assertion(request, signIn), keys.current.keyPem) : undefined,
    );
    if (isGood) signIn.services.add(request.service);
    const signed = signEnveloped(message, keys.current.keyPem);
    return postPage(request.url, {
      SAMLResponse: Buffer.from(signed.xml).toString("base64"),
      ...(request.relayState !== undefined && { RelayState: request.relayState }),
    });
  };

  const assertion = (request: Request, { person, at, id }: SignIn): Markup => {
    const until = writeInstant(now() + goodMs);
    const attribute = (name: string, values: readonly string[]): Markup | undefined =>
      values.length === 0
        ? undefined
        : element(
            "saml:Attribute",
            { Name: name },
            ...values.map((value) => element("saml:AttributeValue", {}, value)),
          );
    return element(
      "saml:Assertion",
      { "xmlns:saml": saml, ...head() },
      element("saml:Issuer", {}, entityId),
      element(
        "saml:Subject",
        {},
        element("saml:NameID", { Format: persistent }, person.id),
        element(
          "saml:SubjectConfirmation",
          { Method: bearer },
          element("saml:SubjectConfirmationData", {
            Recipient: request.url,
            NotOnOrAfter: until,
            InResponseTo: request.id,
          }),
        ),
      ),
      element(
        "saml:Conditions",
        { NotBefore: writeInstant(now()), NotOnOrAfter: until },
        element("saml:AudienceRestriction", {}, element("saml:Audience", {}, request.service)),
      ),
      element(
        "saml:AuthnStatement",
        { AuthnInstant: writeInstant(at), SessionIndex: indexOf(id) },
        element(
          "saml:AuthnContext",
          {},
          element("saml:AuthnContextClassRef", {}, "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified"),
        ),
      ),
      element(
        "saml:AttributeStatement",
        {},
        attribute("name", [person.name]),
        attribute("email", person.email === "" ? [] : [person.email]),
        attribute("groups", person.groups),
      ),
    );
  };

  const signOn = (asked: Asked): Reply => {
    const { message, relayState } = received(asked);
    if (!isNamed(message, samlp, "AuthnRequest")) return plain(400, "There is no AuthnRequest.");
    const url = attributeOf(message, "AssertionConsumerServiceURL") ?? "";
    if (URL.parse(url)?.origin !== ours()) return plain(400, "The service is not of this server.");
    const service = issuerOf(message);
    if (!known.includes(service) && known.length < maxServices) known.push(service);
    consumers.set(service, url);
    const request = {
      id: attributeOf(message, "ID"),
      service,
      url,
      relayState,
      anew: attributeOf(message, "ForceAuthn") === "true",
    };
    return signIns.want(asked, {
      client: service,
      anew: request.anew,
      finish: (outcome) => respond(request, outcome),
    });
  };

  /** A login that no service has asked for. */
  const begin = (asked: Asked): Reply => {
    const service = asked.form.get("service") ?? "";
    const url = consumers.get(service);
    if (url === undefined) return plain(404, "No such service has been here.");
    const relay = (asked.form.get("relay") ?? "").trim();
    const request = { id: undefined, service, url, relayState: relay === "" ? undefined : relay, anew: false };
    return signIns.want(asked, { client: service, anew: false, finish: (outcome) => respond(request, outcome) });
  };

  /** A service's LogoutRequest is done and answered; an answer to one of ours ends here. */
  const signOut = (asked: Asked): Reply => {
    const { message, relayState } = received(asked);
    if (isNamed(message, samlp, "LogoutResponse")) {
      const left = leaving.get(relayState ?? "");
      return (left && leave(left)) ?? seeOther(`${issuer}/`);
    }
    if (!isNamed(message, samlp, "LogoutRequest")) return plain(400, "There is no LogoutRequest.");
    const url = consumers.get(issuerOf(message))?.replace(/\/acs$/, "/slo");
    if (url === undefined) return plain(400, "The service has not been here.");
    const signIn = signIns.of(asked);
    if (signIn) signIns.end(signIn);
    const response = element(
      "samlp:LogoutResponse",
      { ...namespaces, ...head(), Destination: url, InResponseTo: attributeOf(message, "ID") },
      element("saml:Issuer", {}, entityId),
      element("samlp:Status", {}, element("samlp:StatusCode", { Value: status.success })),
    );
    return sent(url, response, "SAMLResponse", relayState);
  };
  const leave = (signIn: SignIn): Reply | undefined => {
    const [service] = signIn.services;
    const url = service === undefined ? undefined : consumers.get(service)?.replace(/\/acs$/, "/slo");
    if (service === undefined || url === undefined) return undefined;
    signIn.services.delete(service);
    const token = newToken();
    leaving.set(token, signIn);
    const request = element(
      "samlp:LogoutRequest",
      { ...namespaces, ...head(), Destination: url, NotOnOrAfter: writeInstant(now() + goodMs) },
      element("saml:Issuer", {}, entityId),
      element("saml:NameID", { Format: persistent }, signIn.person.id),
      element("samlp:SessionIndex", {}, indexOf(signIn.id)),
    );
    return sent(url, request, "SAMLRequest", token);
  };
  const sent = (url: string, message: Markup, field: MessageField, relayState: string | undefined): Reply => {
    const outgoing = sendTo({ redirect: url }, { message, field, relayState, signingKeyPem: keys.current.keyPem });
    return outgoing?.binding === "redirect" ? seeOther(outgoing.url) : plain(500, "There is no way to answer.");
  };

  const answers: Readonly<Record<string, (asked: Asked) => Reply>> = {
    "GET /saml/metadata": () => ({
      status: 200,
      headers: { "content-type": "application/samlmetadata+xml" },
      body: metadata(),
    }),
    "GET /saml/sso": signOn,
    "POST /saml/sso": signOn,
    "POST /saml/begin": begin,
    "GET /saml/slo": signOut,
    "POST /saml/slo": signOut,
  };
  return {
    metadata,
    services: () => known,
    leave,
    answer(asked) {
      try {
        return answers[`${asked.method} ${asked.path}`]?.(asked);
      } catch (error) {
        if (error instanceof XmlIssue) return plain(400, `The message of SAML ${error.message}.`);
        throw error;
      }
    },
  };
}

const persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** Reads without verifying: who asks is believed as well, and answers go to this server alone. */
function received({ method, query, form }: Asked): {
  readonly message: XmlElement;
  readonly relayState: string | undefined;
} {
  const given = method === "GET" ? query : form;
  const bytes = Buffer.from(given.get("SAMLRequest") ?? given.get("SAMLResponse") ?? "", "base64");
  let text: string;
  try {
    text = (method === "GET" ? inflateRawSync(bytes, { maxOutputLength: limits.maxLength }) : bytes).toString("utf8");
  } catch {
    throw new XmlIssue("cannot be inflated");
  }
  return { message: readXml(text, limits), relayState: given.get("RelayState") ?? undefined };
}

function issuerOf(message: XmlElement): string {
  const issuer = elementsIn(message).find((one) => isNamed(one, saml, "Issuer"));
  if (!issuer) throw new XmlIssue("has no Issuer");
  return textIn(issuer);
}

function indexOf(id: string): string {
  return `_${Buffer.from(id).toString("hex").slice(0, 32)}`;
}
