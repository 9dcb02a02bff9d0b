/** The development identity provider for SAML 2.0: both bindings, logins without a request, single logout. */
import { Lru } from "../lib/collections/lru.ts";
import { samlp } from "../identity/saml/xml-names.ts";
import { attributeOf, isNamed, XmlIssue } from "../identity/saml/xml/element.ts";
import { postPage } from "./sign-in-pages.ts";
import type { ProviderServices } from "./provider-services.ts";
import { replyText } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";
import { makeSamlLogOut } from "./saml-log-out.ts";
import { idpMetadata, writeSignedResponse } from "./saml-messages.ts";
import type { Addressed, Writer } from "./saml-messages.ts";
import { issuerOf, readReceived } from "./saml-received.ts";
import type { SignInResult, SignIn } from "./sign-ins.ts";

export interface Saml {
  readonly metadata: () => string;
  /** Entity ids of services that sent requests. */
  readonly services: () => readonly string[];
  /** Redirects the browser to the next service to notify, or returns undefined after the last. */
  leave(signIn: SignIn): ProviderReply | undefined;
  /** Returns undefined for a path that it does not serve. */
  answer(asked: ProviderRequest): ProviderReply | undefined;
}

const maxServices = 100;

export function makeSaml({ issuer, now, keys, signIns, ours }: ProviderServices): Saml {
  const entityId = `${issuer}/saml/metadata`;
  /** Response URL of each service, by its entity id. */
  const consumers = new Lru<string, string>(maxServices);
  const known: string[] = [];
  const writer = (): Writer => ({ entityId, key: keys.current, now: now() });
  const logOut = makeSamlLogOut({ issuer, signIns, writer, consumers });
  const metadata = (): string => idpMetadata(issuer, entityId, keys.published());

  const respond = (to: Addressed, relayState: string | undefined, outcome: SignInResult): ProviderReply => {
    const signIn = typeof outcome === "string" ? undefined : outcome;
    signIn?.services.add(to.service);
    const { xml } = writeSignedResponse(writer(), to, signIn);
    return postPage(to.url, {
      SAMLResponse: Buffer.from(xml).toString("base64"),
      ...(relayState !== undefined && { RelayState: relayState }),
    });
  };

  const signOn = (asked: ProviderRequest): ProviderReply => {
    const { message, relayState } = readReceived(asked);
    if (!isNamed(message, samlp, "AuthnRequest")) return replyText(400, "The AuthnRequest is missing.");
    const url = attributeOf(message, "AssertionConsumerServiceURL") ?? "";
    if (URL.parse(url)?.origin !== ours()) return replyText(400, "The service does not belong to this server.");
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

  /** Starts a login that no service requested. */
  const begin = (asked: ProviderRequest): ProviderReply => {
    const service = asked.form.get("service") ?? "";
    const url = consumers.get(service);
    if (url === undefined) return replyText(404, "The service has not logged anyone in here.");
    const relay = (asked.form.get("relay") ?? "").trim();
    const to = { id: undefined, service, url };
    return signIns.want(asked, {
      client: service,
      anew: false,
      finish: (outcome) => respond(to, relay === "" ? undefined : relay, outcome),
    });
  };

  const answers: Readonly<Record<string, (asked: ProviderRequest) => ProviderReply>> = {
    "GET /saml/metadata": () => ({
      status: 200,
      headers: { "content-type": "application/samlmetadata+xml" },
      body: metadata(),
    }),
    "GET /saml/sso": signOn,
    "POST /saml/sso": signOn,
    "POST /saml/begin": begin,
    "GET /saml/slo": logOut.answer,
    "POST /saml/slo": logOut.answer,
  };
  return {
    metadata,
    services: () => known,
    leave: logOut.leave,
    answer(asked) {
      try {
        return answers[`${asked.method} ${asked.path}`]?.(asked);
      } catch (error) {
        if (error instanceof XmlIssue) return replyText(400, `The SAML message ${error.message}.`);
        throw error;
      }
    },
  };
}
