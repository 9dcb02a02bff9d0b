/** Login fields shared by modules and policies: who is admitted, and what is requested from a provider. */
import { isIP } from "node:net";
import { hostIssue } from "../lib/hostport.ts";
import { isPublicAddress } from "../lib/public-address.ts";
import { f } from "./fields.ts";
import type { StringFormat } from "./fields.ts";

const lowerCase = (text: string): string | undefined =>
  text === text.toLowerCase() ? undefined : `be in lower case: "${text.toLowerCase()}"`;

const email: StringFormat = {
  name: "email",
  example: "user@example.com",
  check(text) {
    const at = text.lastIndexOf("@");
    if (at < 1 || !/^[\x21-\x7e]+$/.test(text)) return 'be an e-mail address such as "user@example.com"';
    return lowerCase(text) ?? domainIssue(text.slice(at + 1));
  },
};

const emailDomain: StringFormat = {
  name: "email-domain",
  example: "example.com",
  check: (text) => lowerCase(text) ?? domainIssue(text),
};

/** RFC 6749 §3.3: scope-token. */
export const oauthScope: StringFormat = {
  name: "oauth-scope",
  example: "access",
  check: (text) =>
    /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text) ? undefined : 'be a scope: visible ASCII without spaces, "\\" and quotes',
};

function domainIssue(domain: string): string | undefined {
  if (domain.startsWith("*.")) return "name one domain without subdomains";
  const issue = hostIssue(domain);
  return issue && `have a domain that must ${issue}`;
}

const scope: StringFormat = {
  name: "oauth-scope",
  example: "openid",
  check: (text) =>
    // RFC 6749 §3.3: scope-token.
    /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text) ? undefined : 'be a scope: visible ASCII without spaces, "\\" and quotes',
};

export const scopes = f.list("Scopes requested from the provider.", f.string("A scope.", { format: scope }), {
  maxItems: 100,
  unique: true,
});

export const emailAddresses = f.list(
  "E-mail addresses of authenticated users allowed access.",
  f.string("An e-mail address.", { format: email }),
  { unique: true },
);

export const emailDomains = f.list(
  "E-mail domains of authenticated users allowed access; subdomains are not included.",
  f.string("A domain.", { format: emailDomain }),
  { unique: true },
);

/**
 * An absolute https URL, or http for local addresses if the operator allows those. The API checks the text, and the
 * outbound client checks the resolved addresses.
 */
export const providerUrl: StringFormat = {
  name: "uri",
  example: "https://login.example.com",
  check(text) {
    const url = URL.parse(text);
    if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return "be an absolute URL";
    if (url.protocol === "http:" && isPublicAddress(url.hostname.replace(/^\[|\]$/g, ""))) return "be an https URL";
    if (url.username !== "" || url.password !== "") return "not contain credentials";
    return url.hash === "" ? undefined : "not have a fragment";
  },
};

/**
 * Returns why a provider's URL, or an address in it, is refused when local addresses are not allowed; undefined if only
 * name resolution could tell.
 */
export function explainInside(text: string): string | undefined {
  const notAllowed = "which this server does not allow (--allow-local-upstreams)";
  const { protocol, hostname } = new URL(text);
  if (protocol === "http:") return `must be an https URL: http is for local addresses, ${notAllowed}`;
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 || isPublicAddress(host) ? undefined : `leads to a local address, ${notAllowed}`;
}

/** Checks a SAML provider's metadata as far as possible without parsing it. */
export const entityDescriptor: StringFormat = {
  name: "saml-metadata",
  example: '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="…">…</EntityDescriptor>',
  check(text) {
    if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return "not contain a DOCTYPE";
    return /<(?:[\w.-]+:)?EntityDescriptor[\s>]/.test(text) ? undefined : "be an XML EntityDescriptor";
  },
};

/** Which users a SAML provider may send, and in which form. */
export const samlChoices = {
  force_authn: f.boolean(
    "If true, the IdP must prompt for credentials on every redirect even if the user has an IdP session.",
  ),
  allow_idp_initiated: f.boolean(
    "If true, the IdP may start a login directly; the IdP should set RelayState to the target URL.",
    { default: true },
  ),
  authorized_groups: f.list(
    "If present, only members of one of the listed groups may access.",
    f.string("A group.", { maxBytes: 1024 }),
    { unique: true },
  ),
  nameid_format: f.oneOf(
    "Name identifier format expected in assertions.",
    [
      "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
      "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
      "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
      "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
      "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress",
      "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified",
    ],
    { default: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" },
  ),
} as const;
