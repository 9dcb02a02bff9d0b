import { readInstant } from "../instant.ts";
import { nameIdFormats } from "../xml-names.ts";
import { attributeOf, textIn } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { issueWindowMs } from "./work.ts";

/** Returns why the issue time is not acceptable; undefined if it is. */
export function issueInstantIssue(message: XmlElement, { nowMs }: { readonly nowMs: number }): string | undefined {
  const issuedMs = readInstant(attributeOf(message, "IssueInstant"));
  if (issuedMs === undefined) return `the ${message.local} has no valid IssueInstant`;
  if (Math.abs(nowMs - issuedMs) <= issueWindowMs) return undefined;
  const minutes = Math.round((nowMs - issuedMs) / 60_000);
  return `the ${message.local} was issued ${Math.abs(minutes)} minutes ${minutes > 0 ? "ago" : "ahead"}`;
}

/** Returns why an Issuer is not this entity (saml-core §2.2.5); undefined if it is. */
export function issuerIssue(issuer: XmlElement, entityId: string): string | undefined {
  const format = attributeOf(issuer, "Format");
  if (format !== undefined && format !== nameIdFormats.entity) return "the Issuer is not an entity identifier";
  return textIn(issuer) === entityId ? undefined : "the Issuer is not the route's identity provider";
}
