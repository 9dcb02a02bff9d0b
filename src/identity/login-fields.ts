import { hostIssue } from "../lib/hostport.ts";
import { isPublicAddress } from "../lib/public-address.ts";
import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import type { LoginRouteConfig } from "./engine.ts";

const cookiePrefix: StringFormat = {
  name: "cookie-prefix",
  example: "service.",
  check: (text) => (/^[A-Za-z0-9.]*$/.test(text) ? undefined : "consist of letters, digits and periods"),
};

/** What the three login modules have in common. */
export const loginFields = {
  options_passthrough: f.boolean(
    "Do not enforce authentication on HTTP OPTIONS requests; needed for CORS. Such requests reach the upstream without the visitor's identity.",
  ),
  cookie_prefix: f.string("Prefix of the session cookie set on the client.", {
    default: "service.",
    format: cookiePrefix,
  }),
  inactivity_timeout: f.uint32(
    "Seconds of inactivity after which the session times out and reauthentication is forced; 0: never.",
  ),
  maximum_duration: f.uint32("Seconds, maximum duration of an authenticated session; 0: unlimited."),
} as const;

export const authCheckInterval = f.uint32(
  "Seconds after which user state is refreshed from the identity provider and authorization rechecked; 0: only at login.",
);

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
  if (domain.startsWith("*.")) return "name one domain: subdomains are not included";
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

/** What of a configuration the three have in common, as the engine takes it. @param checkInterval seconds */
export function loginConfig(
  config: {
    readonly options_passthrough: boolean;
    readonly cookie_prefix: string;
    readonly inactivity_timeout: number;
    readonly maximum_duration: number;
  },
  checkInterval: number,
): LoginRouteConfig {
  return {
    cookiePrefix: config.cookie_prefix,
    optionsPassthrough: config.options_passthrough,
    inactivityTimeout: config.inactivity_timeout,
    maximumDuration: config.maximum_duration,
    checkInterval,
  };
}
