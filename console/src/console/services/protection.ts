/** Who may use a service, as a form: addresses, and a login. */
import type { LoginAddresses } from "../../../../sdk/src/index.ts";
import type { JsonObject } from "../api.ts";
import { passwordAction } from "./password.ts";
import { countryFault } from "./countries.tsx";
import type { CountryRule } from "./countries.tsx";

/** `kept`: the login stays unchanged. */
export type Login = "" | "kept" | "development" | "password" | "google" | "github" | "microsoft" | "openid" | "saml";

export interface Protection extends CountryRule {
  /** Addresses or ranges, separated by spaces; "": all. */
  readonly ranges: string;
  readonly login: Login;
  /** E-mail domains of people with access, separated by spaces; "": all. */
  readonly domains: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly metadataUrl: string;
  readonly user: string;
  readonly password: string;
}

export const noProtection: Protection = {
  countries: "",
  blocksCountries: false,
  ranges: "",
  login: "",
  domains: "",
  issuer: "",
  clientId: "",
  clientSecret: "",
  metadataUrl: "",
  user: "",
  password: "",
};

export type Development = LoginAddresses["development_provider"];

/** Logins with their names in a sentence. */
export const logins: readonly (readonly [login: Login, name: string])[] = [
  ["", "no login"],
  ["development", "a test login"],
  ["password", "a password"],
  ["google", "Google"],
  ["github", "GitHub"],
  ["microsoft", "Microsoft"],
  ["openid", "OpenID Connect"],
  ["saml", "SAML"],
];

/** Whether the login's provider reports e-mail addresses that a rule can use. */
export function hasDomains(login: Login): boolean {
  return login === "google" || login === "github" || login === "microsoft";
}

export function wordsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((one) => one !== "");
}

const range = /^(?:\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?|[0-9a-f:.]*:[0-9a-f:.]*(?:\/\d{1,3})?)$/i;
const domain = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/i;

/** Returns an error sentence for each missing or invalid field. */
export function faultsOf(value: Protection): Partial<Record<keyof Protection, string>> {
  const { login } = value;
  const wrongRange = wordsOf(value.ranges).find((one) => !range.test(one));
  const wrongDomain = wordsOf(value.domains).find((one) => !domain.test(one));
  const needsClient = login === "openid";
  const isHalf = hasDomains(login) && (value.clientId === "") !== (value.clientSecret === "");
  const faults = {
    countries: countryFault(value),
    ranges: wrongRange !== undefined && `${wrongRange} is not an address or a range, such as 203.0.113.0/24.`,
    domains: hasDomains(login) && wrongDomain !== undefined && `${wrongDomain} is not a domain, such as acme.com.`,
    issuer:
      login === "openid" &&
      URL.parse(value.issuer)?.protocol !== "https:" &&
      "Enter the https:// URL of the provider, such as https://login.example.com.",
    clientId: (needsClient || isHalf) && value.clientId === "" && "Enter the client ID that the provider gave you.",
    clientSecret:
      (needsClient || isHalf) && value.clientSecret === "" && "Enter the client secret that the provider gave you.",
    metadataUrl:
      login === "saml" &&
      URL.parse(value.metadataUrl)?.protocol !== "https:" &&
      "Enter the https:// URL of the provider's metadata.",
    user: login === "password" && !/^[^:]+$/.test(value.user) && "Enter a user name without a colon.",
    password:
      login === "password" &&
      (value.password.length < 8 || value.password.length > 128) &&
      "Enter a password of 8 to 128 characters.",
  };
  return Object.fromEntries(Object.entries(faults).filter(([, text]) => text));
}

/** Returns the modules of a route that demand the login. */
export function loginModules(value: Protection, development: Development | undefined): JsonObject {
  const { login, clientId, clientSecret, issuer } = value;
  const scopes = ["openid", "email", "profile"];
  const client = { client_id: clientId, client_secret: clientSecret };
  if (login === "development") return development ? { oidc: { ...development, scopes } } : {};
  if (login === "openid") return { oidc: { issuer, ...client, scopes } };
  if (login === "saml") return { saml: { idp_metadata_url: value.metadataUrl } };
  if (login === "password") return { traffic_policy: { value: passwordPolicy(value) } };
  if (!hasDomains(login)) return {};
  const domains = wordsOf(value.domains);
  return {
    oauth: {
      provider: {
        [login]: {
          ...(clientId !== "" && client),
          ...(domains.length > 0 && { email_domains: domains }),
        },
      },
    },
  };
}

function passwordPolicy({ user, password }: Protection): string {
  return JSON.stringify({ on_http_request: [{ actions: [passwordAction(user, password)] }] });
}

/**
 * Returns an IP policy and its rules as objects of a document.
 * @param name prefix of their names
 * @param service name of the service for people
 */
export function rangeObjects(name: string, ranges: string, service = name): JsonObject {
  const words = wordsOf(ranges);
  if (words.length === 0) return {};
  const policy = `${name}-visitors`;
  const rule = (cidr: string, at: number) =>
    [`${name}-${at + 1}`, { ip_policy_id: policy, cidr, action: "allow" }] as const;
  return {
    ip_policy: { [policy]: { description: `access to ${service}` } },
    ip_policy_rule: Object.fromEntries(words.map(rule)),
  };
}
