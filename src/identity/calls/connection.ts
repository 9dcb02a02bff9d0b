/** Whom a login calls and as which client: plain data that crosses to the thread that does it. */

export interface Connection {
  readonly kind: "oauth" | "oidc";
  /** Name of the provider of an `oauth` login; "" else. */
  readonly provider: string;
  /** Of an `oidc` login; "" else. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** As asked for. */
  readonly scopes: readonly string[];
  /** Rights to refresh are asked for. */
  readonly refreshes: boolean;
  /** Where every endpoint of an `oauth` provider is instead, as the operator says; "" for where they are. */
  readonly baseUrl: string;
  /** Facebook's. */
  readonly graphVersion: string;
}

/** Where a visitor is sent, and what the provider takes with it. */
export interface ProviderMetadata {
  readonly authorizeUrl: string;
  /** More parameters for it. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly scopeSeparator: string;
  readonly pkce: boolean;
  readonly nonce: boolean;
  /** Whether it takes `prompt=login` and `max_age` (OpenID Connect). */
  readonly openid: boolean;
  /** More parameters, by which a visitor can be somebody else than whom the provider knows already. */
  readonly otherAccount: Readonly<Record<string, string>>;
  /** As users see it, and the URL by which users of it are told from those of another. */
  readonly title: string;
  readonly url: string;
  /** The issuer that `iss` of a callback must be, where it is known before tokens are; "" else. */
  readonly issuer: string;
  /** Whether `iss` comes back with each answer (RFC 9207 §3). */
  readonly returnsIssuer: boolean;
}

/** OpenID Connect Core 1.0 §3.1.2.1. */
export const openidOtherAccount = { prompt: "select_account" } as const;

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly id: string;
}
