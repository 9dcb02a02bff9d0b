/**
 * Single logout of the development identity provider (saml-profiles §4.4): one service after another, through the
 * browser.
 */
import { Lru } from "../lib/collections/lru.ts";
import { samlp } from "../identity/saml/xml-names.ts";
import { sendTo } from "../identity/saml/transport/outgoing-message.ts";
import type { MessageField } from "../identity/saml/transport/outgoing-message.ts";
import { attributeOf, isNamed } from "../identity/saml/xml/element.ts";
import type { Markup } from "../identity/saml/xml/write.ts";
import { replyText, seeOther } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";
import { logoutRequest, logoutResponse } from "./saml-messages.ts";
import type { Writer } from "./saml-messages.ts";
import { issuerOf, readReceived } from "./saml-received.ts";
import { newToken } from "./sign-ins.ts";
import type { SignIn, SignIns } from "./sign-ins.ts";

export interface SamlLogOut {
  /** Redirects the browser to the next service to notify, or returns undefined after the last. */
  readonly leave: (signIn: SignIn) => ProviderReply | undefined;
  /** Handles messages of services. */
  readonly answer: (asked: ProviderRequest) => ProviderReply;
}

interface LogOutContext {
  readonly issuer: string;
  readonly signIns: SignIns;
  readonly writer: () => Writer;
  /** Response URL of each service, by its entity id. */
  readonly consumers: Lru<string, string>;
}

const maxLeaving = 100;

export function makeSamlLogOut({ issuer, signIns, writer, consumers }: LogOutContext): SamlLogOut {
  /** Logouts with services that are still to be notified, by their current RelayState. */
  const leaving = new Lru<string, SignIn>(maxLeaving);
  const addressOf = (service: string): string | undefined => consumers.get(service)?.replace(/\/acs$/, "/slo");

  /** Completes and answers a service's LogoutRequest, or handles the response to one of ours. */
  const answer = (asked: ProviderRequest): ProviderReply => {
    const { message, relayState } = readReceived(asked);
    if (isNamed(message, samlp, "LogoutResponse")) {
      const left = leaving.get(relayState ?? "");
      return (left && leave(left)) ?? seeOther(`${issuer}/`);
    }
    if (!isNamed(message, samlp, "LogoutRequest")) return replyText(400, "The LogoutRequest is missing.");
    const url = addressOf(issuerOf(message));
    if (url === undefined) return replyText(400, "The service has not logged anyone in here.");
    const signIn = signIns.of(asked);
    if (signIn) signIns.end(signIn);
    const response = logoutResponse(writer(), url, attributeOf(message, "ID"));
    return sent(url, response, "SAMLResponse", relayState);
  };
  const leave = (signIn: SignIn): ProviderReply | undefined => {
    const [service] = signIn.services;
    const url = service === undefined ? undefined : addressOf(service);
    if (service === undefined || url === undefined) return undefined;
    signIn.services.delete(service);
    const token = newToken();
    leaving.set(token, signIn);
    const request = logoutRequest(writer(), url, signIn);
    return sent(url, request, "SAMLRequest", token);
  };
  const sent = (url: string, message: Markup, field: MessageField, relayState: string | undefined): ProviderReply => {
    const outgoing = sendTo({ redirect: url }, { message, field, relayState, signingKeyPem: writer().key.keyPem });
    return outgoing?.binding === "redirect"
      ? seeOther(outgoing.url)
      : replyText(500, "The service has no URL for the answer.");
  };
  return { leave, answer };
}
