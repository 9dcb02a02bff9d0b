/** The declaration of an OAuth provider: its endpoints, what it supports, and how its answers become an identity. */
import type { SignatureAlgorithm } from "../../jose/algorithms.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { OAuthProviderName } from "../../settings/kinds/oauth-apps.ts";
import type { FetchedAnswer } from "../calls/fetch.ts";
import type { Tokens } from "../calls/provider-connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";

export interface OAuthProvider {
  readonly name: OAuthProviderName;
  /** Name shown to visitors. */
  readonly title: string;
  /** Distinguishes its users from those of other providers. */
  readonly url: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly scopes: (needs: ScopeNeeds) => readonly string[];
  readonly scopeSeparator?: string;
  readonly pkce: boolean;
  /** Present if the provider signs an id_token, which is then required. */
  readonly openid?: OpenId;
  /** Additional parameters of the authorization request. */
  readonly parameters?: (refreshes: boolean) => Readonly<Record<string, string>>;
  /** Parameters that make it ask for the account. Default: those of OpenID Connect, if it supports that. */
  readonly otherAccount?: Readonly<Record<string, string>>;
  /** Whether a check needs a refresh token. Otherwise it requests the data with the present access token. */
  readonly refreshes: boolean;
  /** Maximum interval between validations of a token in use, seconds. */
  readonly validatesEvery?: number;
  /** E-mail domains count only if the provider manages the address for them. */
  readonly managedDomains?: boolean;
  identity(call: IdentityCall): Promise<Identity>;
}

export interface ScopeNeeds {
  /** Whether teams or organizations are listed. */
  readonly memberships: boolean;
  /** Whether logins are checked again or tokens are forwarded. */
  readonly refreshes: boolean;
}

export interface OpenId {
  readonly issuer: string | TenantIssuers;
  readonly keysUrl: string;
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** For a provider with an issuer per tenant. */
export interface TenantIssuers {
  of(claims: JsonObject): string;
  /** Allowed form of `iss` in a callback, before claims name the tenant. */
  readonly form: RegExp;
}

export interface IdentityCall {
  readonly tokens: Tokens;
  /** Claims of the verified id_token; undefined without one. */
  readonly claims: JsonObject | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The granted scopes. */
  readonly scopes: readonly string[];
  /** Sends a request with the access token. Rejects unless the answer is 200. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<FetchedAnswer>;
}

/** Whether `iss` of a callback belongs to the provider (RFC 9207 §2.4). True if the provider's issuer is not known. */
export function isIssuerOf({ openid }: OAuthProvider, iss: string): boolean {
  if (!openid) return true;
  return typeof openid.issuer === "string" ? iss === openid.issuer : openid.issuer.form.test(iss);
}

/** Returns the refusal for an answer other than 200. */
export function dataRefusal({ status, json }: FetchedAnswer, what: string): LoginRefusal {
  const isWithdrawn = status === 401 || (status === 400 && typeof json["error"] === "object");
  return isWithdrawn
    ? new LoginRefusal("login_withdrawn", `${what} is answered ${status}: the provider rejects the access token`)
    : new LoginRefusal("login_provider_error", `${what} is answered ${status}`);
}
