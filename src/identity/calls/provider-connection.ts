/** The provider and the client of a login, as plain data for the login thread. */

export interface Connection {
  readonly kind: "oauth" | "oidc";
  /** Provider name of an `oauth` login; otherwise "". */
  readonly provider: string;
  /** Issuer of an `oidc` login; otherwise "". */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The requested scopes. */
  readonly scopes: readonly string[];
  /** Whether to request refresh tokens. */
  readonly refreshes: boolean;
  /** The operator's replacement for the address of an `oauth` provider's endpoints; "" for the usual address. */
  readonly baseUrl: string;
  /** Version of Facebook's Graph API. */
  readonly graphVersion: string;
}

/** Where to send a visitor, and what the provider supports. */
export interface ProviderMetadata {
  readonly authorizeUrl: string;
  /** Additional parameters of the authorization URL. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly scopeSeparator: string;
  readonly pkce: boolean;
  readonly nonce: boolean;
  /** Whether it supports `prompt=login` and `max_age` (OpenID Connect). */
  readonly openid: boolean;
  /** Parameters that let the visitor choose another account. */
  readonly otherAccount: Readonly<Record<string, string>>;
  /** Name shown to users, and the URL that distinguishes its users from those of other providers. */
  readonly title: string;
  readonly url: string;
  /** The issuer that `iss` of a callback must equal, if it is known before tokens arrive; otherwise "". */
  readonly issuer: string;
  /** Whether each response contains `iss` (RFC 9207 §3). */
  readonly returnsIssuer: boolean;
}

/** OpenID Connect Core 1.0 §3.1.2.1. */
export const openidOtherAccount = { prompt: "select_account" } as const;

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly id: string;
}
