/** A visitor's identity from a provider, as plain data, in the same form for every kind of login. */

export interface Identity {
  /** Id at the provider, or the NameID of a SAML login. */
  readonly subject: string;
  readonly email: string;
  /**
   * Whether the provider has verified the address. Only then it is compared with lists of addresses and domains (I5).
   */
  readonly emailVerified: boolean;
  readonly name: string;
  readonly username: string;
  /** Teams and organizations in the form of `memberships.ts`, or groups in the provider's spelling. */
  readonly memberships: readonly string[];
  /** Session id at the provider, if it sends one. */
  readonly providerSession: string;
  /** When the visitor last entered credentials, seconds since 1970; 0 if unknown. */
  readonly authenticatedAt: number;
  /** The domain that manages the address, if the provider names it (Google's `hd`). */
  readonly managedDomain: string;
}

/** Why a login failed. `detail` is for the trace, never for the visitor. */
export class LoginRefusal extends Error {
  readonly reason: LoginRefusalName;

  constructor(reason: LoginRefusalName, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Names in the catalogue of refusals. */
export type LoginRefusalName =
  | "login_required"
  | "login_form"
  | "login_loop"
  | "login_email_unverified"
  | "login_not_listed"
  | "login_no_email"
  | "login_email_refused"
  | "login_scope_missing"
  | "login_declined"
  | "login_state_missing"
  | "login_state_unreadable"
  | "login_late"
  | "login_no_flow"
  | "login_used"
  | "login_elsewhere"
  | "login_provider_error"
  | "login_client_refused"
  | "login_scope_refused"
  | "login_redirect_refused"
  | "login_exchange_failed"
  | "login_token_invalid"
  | "login_withdrawn"
  | "login_unreachable"
  | "login_provider_down"
  | "login_throttled"
  | "login_busy"
  | "login_unchecked"
  | "saml_relay_state"
  | "saml_assertion"
  | "saml_logout_message"
  | "saml_authn_statement"
  | "saml_group"
  | "saml_late"
  | "saml_logout_late"
  | "saml_unsolicited"
  | "saml_relay_url"
  | "saml_relay_route"
  | "saml_metadata"
  | "saml_encrypted"
  | "saml_status";

export const unknownIdentity: Identity = Object.freeze({
  subject: "",
  email: "",
  emailVerified: false,
  name: "",
  username: "",
  memberships: Object.freeze([]) as readonly string[],
  providerSession: "",
  authenticatedAt: 0,
  managedDomain: "",
});

/** Longest text in sessions and header fields, characters. */
const maxText = 512;
/** RFC 5321 §4.5.3.1: 64 and 255 octets, and the "@". */
const maxEmail = 320;
const controls = /\p{Cc}+/gu;

/**
 * Normalizes an identity for a session: display texts become one line without surrounding white space. Subject and
 * memberships stay unchanged, because two of them may differ only in white space.
 */
export function tidyIdentity(identity: Identity): Identity {
  const { email, emailVerified, name, username } = identity;
  const address = email.trim();
  const isUsable = address.length <= maxEmail && !/[\p{Cc}\s]/u.test(address);
  return {
    ...identity,
    email: isUsable ? address : "",
    emailVerified: isUsable && emailVerified,
    name: lineOf(name),
    username: lineOf(username),
  };
}

function lineOf(text: string): string {
  return text
    .slice(0, 2 * maxText)
    .toWellFormed()
    .replace(controls, " ")
    .trim()
    .slice(0, maxText);
}
