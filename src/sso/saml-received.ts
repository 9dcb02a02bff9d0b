/** Messages of SAML as they come to the development identity provider: by either binding, read and not verified. */
import { inflateRawSync } from "node:zlib";
import { saml } from "../identity/saml/names.ts";
import { elementsIn, isNamed, textIn, XmlIssue } from "../identity/saml/xml/element.ts";
import type { XmlElement } from "../identity/saml/xml/element.ts";
import { readXml } from "../identity/saml/xml/read.ts";
import type { Asked } from "./reply.ts";

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 500, maxAttributes: 32 };

export interface Received {
  readonly message: XmlElement;
  readonly relayState: string | undefined;
}

/** Who asks is believed as well, and answers go to this server alone. Throws `XmlIssue`. */
export function received({ method, query, form }: Asked): Received {
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

/** Entity id of who has written it. Throws `XmlIssue`. */
export function issuerOf(message: XmlElement): string {
  const issuer = elementsIn(message).find((one) => isNamed(one, saml, "Issuer"));
  if (!issuer) throw new XmlIssue("has no Issuer");
  return textIn(issuer);
}
