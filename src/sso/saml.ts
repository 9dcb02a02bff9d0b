/** The development identity provider by SAML 2.0: both bindings, logins that begin here, single log-out. */
import { inflateRawSync } from "node:zlib";
import { Lru } from "../lib/lru.ts";
import { saml, samlp } from "../identity/saml/names.ts";
import { sendTo } from "../identity/saml/transport/outgoing.ts";
import type { MessageField } from "../identity/saml/transport/outgoing.ts";
import { attributeOf, elementsIn, isNamed, textIn, XmlIssue } from "../identity/saml/xml/element.ts";
import type { XmlElement } from "../identity/saml/xml/element.ts";
import { readXml } from "../identity/saml/xml/read.ts";
import type { Markup } from "../identity/saml/xml/write.ts";
import { postPage } from "./pages.ts";
import type { Services } from "./provider.ts";
import { plain, seeOther } from "./reply.ts";
import type { Asked, Reply } from "./reply.ts";
import { idpMetadata, logoutRequest, logoutResponse, signedResponse } from "./saml-messages.ts";
import type { Addressed, Writer } from "./saml-messages.ts";
import { newToken } from "./sign-ins.ts";
import type { Outcome, SignIn } from "./sign-ins.ts";

export interface Saml {
  readonly metadata: () => string;
  /** Entity ids of services that have asked. */
  readonly services: () => readonly string[];
  /** Sends the browser to the next service that has to hear of the end; undefined when all have. */
  leave(signIn: SignIn): Reply | undefined;
  /** Undefined: not a path of it. */
  answer(asked: Asked): Reply | undefined;
}

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 500, maxAttributes: 32 };
const maxServices = 100;

export function makeSaml({ issuer, now, keys, signIns, ours }: Services): Saml {
  const entityId = `${issuer}/saml/metadata`;
  /** Where the answers of each service go, by its entity id. */
  const consumers = new Lru<string, string>(maxServices);
  const known: string[] = [];
  /** Ends of which not all services have heard, by the RelayState under way. */
  const leaving = new Lru<string, SignIn>(maxServices);
  const writer = (): Writer => ({ entityId, key: keys.current, now: now() });
  const metadata = (): string => idpMetadata(issuer, entityId, keys.published());

  const respond = (to: Addressed, relayState: string | undefined, outcome: Outcome): Reply => {
    const signIn = typeof outcome === "string" ? undefined : outcome;
    signIn?.services.add(to.service);
    const { xml } = signedResponse(writer(), to, signIn);
    return postPage(to.url, {
      SAMLResponse: Buffer.from(xml).toString("base64"),
      ...(relayState !== undefined && { RelayState: relayState }),
    });
  };

  const signOn = (asked: Asked): Reply => {
    const { message, relayState } = received(asked);
    if (!isNamed(message, samlp, "AuthnRequest")) return plain(400, "There is no AuthnRequest.");
    const url = attributeOf(message, "AssertionConsumerServiceURL") ?? "";
    if (URL.parse(url)?.origin !== ours()) return plain(400, "The service is not of this server.");
    const service = issuerOf(message);
    if (!known.includes(service) && known.length < maxServices) known.push(service);
    consumers.set(service, url);
    const to = { id: attributeOf(message, "ID"), service, url };
    return signIns.want(asked, {
      client: service,
      anew: attributeOf(message, "ForceAuthn") === "true",
      finish: (outcome) => respond(to, relayState, outcome),
    });
  };

  /** A login that no service has asked for. */
  const begin = (asked: Asked): Reply => {
    const service = asked.form.get("service") ?? "";
    const url = consumers.get(service);
    if (url === undefined) return plain(404, "No such service has been here.");
    const relay = (asked.form.get("relay") ?? "").trim();
    const to = { id: undefined, service, url };
    return signIns.want(asked, {
      client: service,
      anew: false,
      finish: (outcome) => respond(to, relay === "" ? undefined : relay, outcome),
    });
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
    const response = logoutResponse(writer(), url, attributeOf(message, "ID"));
    return sent(url, response, "SAMLResponse", relayState);
  };
  const leave = (signIn: SignIn): Reply | undefined => {
    const [service] = signIn.services;
    const url = service === undefined ? undefined : consumers.get(service)?.replace(/\/acs$/, "/slo");
    if (service === undefined || url === undefined) return undefined;
    signIn.services.delete(service);
    const token = newToken();
    leaving.set(token, signIn);
    const request = logoutRequest(writer(), url, signIn);
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
        if (error instanceof XmlIssue) return plain(400, `The SAML message ${error.message}.`);
        throw error;
      }
    },
  };
}

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
