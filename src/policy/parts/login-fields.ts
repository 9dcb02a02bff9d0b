/** Fields shared by the configurations of logins. */
import { f } from "../../schema/fields.ts";
import type { Issue, StringFormat } from "../../schema/fields.ts";
import { emailAddresses, emailDomains, scopes } from "../../schema/login-schema.ts";
import { parseDuration } from "../language/duration.ts";
import { durationFormat } from "../language/policy-formats.ts";
import type { AskedLogin } from "../../traffic/asked-login.ts";
import { machineClientFields, machineClientIssue } from "../../traffic/machine-client-fields.ts";
import type { MachineClientBlock } from "../../traffic/machine-client-fields.ts";
import { machineClientsOf } from "../../traffic/machine-clients.ts";

const longest = 10 * 365 * 86_400;

const lifetimeField = (doc: string) => f.string(doc, { format: durationFormat(1, longest, 0) });

const authId = f.string(
  "Distinguishes this login from others. Logins of a host with the same provider, client and `auth_id` are one login. `/ngrok/login?auth_id=…` and `/ngrok/logout?auth_id=…` select this login.",
  { maxBytes: 128 },
);

/** Parameters that the flow sets (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core 1.0 §3.1.2.1 and §6). */
const ownParameters = /^(?:client_id|redirect_uri|response_.*|scope|state|nonce|code_challenge.*|request.*)$/i;

const parameterName: StringFormat = {
  name: "parameter-name",
  example: "prompt",
  reason: "policy_value_refused",
  check(text) {
    if (ownParameters.test(text)) return "not be a parameter that the login itself sends";
    return /^[\x21-\x7e]+$/.test(text) ? undefined : "be visible ASCII";
  },
};

const longestSession = lifetimeField("Maximum duration of a login; unlimited if absent.");

const allowPreflight = f.boolean("Allows CORS preflight requests without a login and without an identity.");

const cookieDomain = f.string("Rejected: each host has separate logins.");

/** Fields of logins by the authorization code flow. */
export const codeLoginFields = {
  auth_id: authId,
  scopes,
  authz_url_params: f.map("Further parameters of the provider's login URL.", f.string("A value.", { maxBytes: 2048 }), {
    maxItems: 32,
    key: f.string("A name.", { minBytes: 1, maxBytes: 128, format: parameterName }),
  }),
  max_session_duration: longestSession,
  userinfo_refresh_interval: lifetimeField(
    "Time after which the server checks the visitor with the provider again; only at login if absent.",
  ),
  allow_cors_preflight: allowPreflight,
  auth_cookie_domain: cookieDomain,
  ...machineClientFields,
  email_addresses: emailAddresses,
  email_domains: emailDomains,
} as const;

const authIdInAddresses: StringFormat = {
  name: "auth-id",
  example: "staff",
  reason: "policy_value_refused",
  check: (text) => (/^\w*$/.test(text) ? undefined : 'consist of letters, digits and "_": it is part of addresses'),
};

/** Fields of logins by SAML. */
export const samlLoginFields = {
  auth_id: f.string(
    "Distinguishes this login from others in the policy, and is part of its addresses. `/ngrok/login?auth_id=…` and `/ngrok/logout?auth_id=…` select this login.",
    { maxBytes: 32, format: authIdInAddresses },
  ),
  max_session_duration: longestSession,
  allow_cors_preflight: allowPreflight,
  auth_cookie_domain: cookieDomain,
  ...machineClientFields,
} as const;

/** @param alias its name in the other kind of login */
export function idleField(alias: string) {
  const doc = "Time without requests after which a login ends; the server's value if absent.";
  return f.string(doc, { format: durationFormat(1, longest, 0), alias });
}

/** Cookies bound to one host prevent sibling hosts from planting cookies. */
export function refuseCookieDomain({ auth_cookie_domain: domain }: { readonly auth_cookie_domain: string }) {
  if (domain === "") return undefined;
  const message = `must be omitted: a cookie for "${domain}" would be visible to every host below it`;
  return { path: "auth_cookie_domain", message, reason: "policy_login_domain" } satisfies Issue;
}

/** The rules of `machine_clients`, with the code of a refused value. */
export function machineClientRule(config: { readonly machine_clients: MachineClientBlock | null }): Issue | undefined {
  const issue = machineClientIssue(config);
  return issue && { ...issue, reason: "policy_value_refused" };
}

interface SharedLoginFields {
  readonly auth_id: string;
  readonly max_session_duration: string;
  readonly userinfo_refresh_interval?: string;
  readonly machine_clients: MachineClientBlock | null;
}

/** @param idle "" for no limit */
export function sharedOf(
  { auth_id, max_session_duration, userinfo_refresh_interval = "", machine_clients }: SharedLoginFields,
  idle: string,
): Pick<AskedLogin, "authId" | "maximumDuration" | "inactivityTimeout" | "checkInterval" | "machines"> {
  const seconds = (text: string): number => parseDuration(text) ?? 0;
  return {
    authId: auth_id,
    maximumDuration: seconds(max_session_duration),
    inactivityTimeout: seconds(idle),
    checkInterval: seconds(userinfo_refresh_interval),
    machines: machineClientsOf(machine_clients),
  };
}
