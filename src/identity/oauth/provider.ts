/** What an OAuth provider is, as its file declares it: where it is, what it takes, and how its answers become an identity. */
import type { SignatureAlgorithm } from "../../jose/algorithms.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { OAuthProviderName } from "../../settings/kinds/oauth-apps.ts";
import type { Answered } from "../calls/fetch.ts";
import type { Tokens } from "../calls/connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";

export interface OAuthProvider {
  readonly name: OAuthProviderName;
  /** As visitors know it. */
  readonly title: string;
  /** What users of it are told from others by. */
  readonly url: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly scopes: (needs: ScopeNeeds) => readonly string[];
  readonly scopeSeparator?: string;
  readonly pkce: boolean;
  /** It signs an id_token, which must then be there. */
  readonly openid?: OpenId;
  /** More parameters of the authorization request. */
  readonly parameters?: (refreshes: boolean) => Readonly<Record<string, string>>;
  /** Those by which it asks which account is meant; unset: those of OpenID Connect, or it has none. */
  readonly otherAccount?: Readonly<Record<string, string>>;
  /** Whether refresh tokens are what a check needs; else the data are asked for with the access token as it is. */
  readonly refreshes: boolean;
  /** Its tokens must be asked for at least so often, seconds, as long as they are used. */
  readonly validatesEvery?: number;
  /** E-mail domains count only where the provider manages the address for them. */
  readonly managedDomains?: boolean;
  identity(call: IdentityCall): Promise<Identity>;
}

export interface ScopeNeeds {
  /** Teams or organizations are listed. */
  readonly memberships: boolean;
  /** Logins are checked again or tokens are forwarded. */
  readonly refreshes: boolean;
}

export interface OpenId {
  readonly issuer: string | TenantIssuers;
  readonly keysUrl: string;
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** Of a provider whose tenants have an issuer each. */
export interface TenantIssuers {
  of(claims: JsonObject): string;
  /** What `iss` of a callback may be, before any claims have said whose it is. */
  readonly form: RegExp;
}

export interface IdentityCall {
  readonly tokens: Tokens;
  /** Of the verified id_token; undefined where there is none. */
  readonly claims: JsonObject | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  /** As granted. */
  readonly scopes: readonly string[];
  /** Asks with the access token; rejects unless the answer is 200. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<Answered>;
}

/** Whether `iss` of a callback is the provider's own (RFC 9207 §2.4); true of one whose issuer is not known. */
export function isIssuerOf({ openid }: OAuthProvider, iss: string): boolean {
  if (!openid) return true;
  return typeof openid.issuer === "string" ? iss === openid.issuer : openid.issuer.form.test(iss);
}

/** What an answer that is not 200 says of a login. */
export function dataRefusal({ status, json }: Answered, what: string): LoginRefusal {
  const isWithdrawn = status === 401 || (status === 400 && typeof json["error"] === "object");
  return isWithdrawn
    ? new LoginRefusal("login_withdrawn", `${what} is answered ${status}: the provider rejects the access token`)
    : new LoginRefusal("login_provider_error", `${what} is answered ${status}`);
}
