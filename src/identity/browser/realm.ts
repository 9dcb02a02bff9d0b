/**
 * A realm is the set of places that share one login: routes of one site with the same provider, client and cookie
 * prefix, or policy rules there with the same provider, client and `auth_id`. They share sessions, but each applies its
 * own lists.
 */
import { hash } from "node:crypto";

export interface Realm {
  /** 8 base-36 digits. */
  readonly tag: string;
  /** Prefix of its cookie names; "" for policy rules. */
  readonly cookiePrefix: string;
  readonly sessionCookie: string;
  /** Prefix of flow cookie names, followed by 6 characters of the flow's id. */
  readonly flowCookie: string;
}

export interface RealmParts {
  /** The edge, or an agent's account and host. */
  readonly siteId: string;
  readonly kind: string;
  /** Name of the provider, the issuer, or the route of a SAML login. */
  readonly provider: string;
  readonly clientId: string;
  readonly cookiePrefix: string;
  /** For a policy rule, "" if it names none; undefined for a module. */
  readonly authId?: string | undefined;
}

/** Different logins with equal cookie prefixes do not collide, because their tags differ. */
export function realmOf({ siteId, kind, provider, clientId, cookiePrefix, authId }: RealmParts): Realm {
  const tag = shortHash([siteId, kind, provider, clientId, ...(authId === undefined ? [] : [authId])]);
  return Object.freeze({
    tag,
    cookiePrefix,
    sessionCookie: `__Host-${cookiePrefix}session.${tag}`,
    flowCookie: `__Host-${cookiePrefix}nonce.${tag}.`,
  });
}

/** The last segment of an issuer's callback path. The same issuer in another account has a different one. */
export function issuerTag(accountId: string, issuer: string): string {
  return shortHash([accountId, issuer]);
}

/** Distinguishes an account's sessions at a host from those of other accounts that had the host before. */
export function hostTag(accountId: string, host: string): string {
  return shortHash([accountId, host]);
}

/** 8 base-36 digits of SHA-256 over the unambiguously separated parts. */
function shortHash(parts: readonly string[]): string {
  const digest = BigInt(`0x${hash("sha256", JSON.stringify(parts), "hex")}`);
  return digest.toString(36).padStart(50, "0").slice(-8);
}
