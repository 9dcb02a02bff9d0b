/** Fields of logins that modules and policies have in common: who may come in, and what is asked of a provider. */
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
 * An absolute URL of https; of http only for local addresses, and only where the operator allows those: the API sees
 * to that, and whoever fetches it to where a name leads.
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
 * Why a URL of a provider, or an address in it, may not be where the operator allows no local addresses; undefined where
 * only a look-up of its name could tell.
 */
export function insideIssue(text: string): string | undefined {
  const notAllowed = "which this server does not allow (--allow-local-upstreams)";
  const { protocol, hostname } = new URL(text);
  if (protocol === "http:") return `must be an https URL: http is for local addresses, ${notAllowed}`;
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 || isPublicAddress(host) ? undefined : `leads to a local address, ${notAllowed}`;
}

/** What of a SAML provider's metadata is seen without reading it. */
export const entityDescriptor: StringFormat = {
  name: "saml-metadata",
  example: '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="…">…</EntityDescriptor>',
  check(text) {
    if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return "not contain a DOCTYPE";
    return /<(?:[\w.-]+:)?EntityDescriptor[\s>]/.test(text) ? undefined : "be an XML EntityDescriptor";
  },
};

/** Whom a SAML provider may send, and how. */
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
