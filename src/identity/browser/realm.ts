/**
 * A realm is what one login is good for: routes of one site with the same provider, client and cookie prefix, or rules of
 * policies there with the same provider, client and `auth_id`. They share sessions; each judges its own lists.
 */
import { hash } from "node:crypto";

export interface Realm {
  /** 8 base-36 digits. */
  readonly tag: string;
  /** Of the names of its cookies; "" for rules of policies. */
  readonly cookiePrefix: string;
  readonly sessionCookie: string;
  /** Names of flow cookies begin with it; 6 characters of the flow's id follow. */
  readonly flowCookie: string;
}

export interface RealmParts {
  /** The edge, or an agent's account and host. */
  readonly siteId: string;
  readonly kind: string;
  /** Name of the provider, issuer, or the route of a SAML login. */
  readonly provider: string;
  readonly clientId: string;
  readonly cookiePrefix: string;
  /** Of a rule of a policy, "" where it names none; undefined for a module. */
  readonly authId?: string | undefined;
}

/** Equal cookie prefixes of different logins never collide: the tag tells them apart. */
export function realmOf({ siteId, kind, provider, clientId, cookiePrefix, authId }: RealmParts): Realm {
  const tag = shortHash([siteId, kind, provider, clientId, ...(authId === undefined ? [] : [authId])]);
  return Object.freeze({
    tag,
    cookiePrefix,
    sessionCookie: `__Host-${cookiePrefix}session.${tag}`,
    flowCookie: `__Host-${cookiePrefix}nonce.${tag}.`,
  });
}

/** The last part of the path at which an issuer's visitors come back: an issuer of another account has another one. */
export function issuerTag(accountId: string, issuer: string): string {
  return shortHash([accountId, issuer]);
}

/** Tells what an account has at a host from what others have had there. */
export function hostTag(accountId: string, host: string): string {
  return shortHash([accountId, host]);
}

/** 8 base-36 digits of SHA-256 over the parts, which are told apart. */
function shortHash(parts: readonly string[]): string {
  const digest = BigInt(`0x${hash("sha256", JSON.stringify(parts), "hex")}`);
  return digest.toString(36).padStart(50, "0").slice(-8);
}
