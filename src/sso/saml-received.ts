/** Reads SAML messages to the development identity provider from both bindings, without verification. */
import { inflateRawSync } from "node:zlib";
import { saml } from "../identity/saml/xml-names.ts";
import { elementsIn, isNamed, textIn, XmlIssue } from "../identity/saml/xml/element.ts";
import type { XmlElement } from "../identity/saml/xml/element.ts";
import { readXml } from "../identity/saml/xml/read-xml.ts";
import type { ProviderRequest } from "./provider-reply.ts";

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 500, maxAttributes: 32 };

export interface ReceivedSaml {
  readonly message: XmlElement;
  readonly relayState: string | undefined;
}

/** Senders are not verified, because responses are sent to this server only. Throws `XmlIssue`. */
export function readReceived({ method, query, form }: ProviderRequest): ReceivedSaml {
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

/** Returns the sender's entity id. Throws `XmlIssue`. */
export function issuerOf(message: XmlElement): string {
  const issuer = elementsIn(message).find((one) => isNamed(one, saml, "Issuer"));
  if (!issuer) throw new XmlIssue("has no Issuer");
  return textIn(issuer);
}
