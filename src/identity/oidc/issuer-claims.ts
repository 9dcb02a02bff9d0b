/** Builds an identity from an OpenID Connect issuer's claims: those of the ID token, then userinfo for missing ones. */
import { readSignedToken, TokenFault } from "../../jose/compact.ts";
import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../calls/fetch.ts";
import { unknownIdentity } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import { maxIdTokenBytes } from "./id-token.ts";

const maxGroups = 256;

/** Issuers that send booleans as text, according to their documentation: Apple, and Amazon Cognito in userinfo. */
const sendsTextBooleans =
  /^https:\/\/(?:(?:appleid|account)\.apple\.com|cognito-idp\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/[\w-]+)\/?$/;

/** Some issuers send null for a missing claim. */
export function hasClaim(claims: JsonObject, name: string): boolean {
  return claims[name] !== undefined && claims[name] !== null;
}

/**
 * @param claims claims of the verified ID token
 * @param info userinfo of the same subject
 * @param issuer the issuer's name
 */
export function identityOf(claims: JsonObject, info: JsonObject, issuer: string): Identity {
  const sourceOf = (name: string): JsonObject => (hasClaim(claims, name) ? claims : info);
  const text = (name: string): string => textOf(sourceOf(name), name);
  const { auth_time } = claims;
  return {
    ...unknownIdentity,
    subject: textOf(claims, "sub"),
    ...emailOf(claims, info, issuer),
    name: text("name"),
    username: text("preferred_username"),
    memberships: groupsOf(sourceOf("groups")["groups"]),
    providerSession: textOf(claims, "sid"),
    authenticatedAt: typeof auth_time === "number" ? auth_time : 0,
  };
}

/**
 * Claims of the login's ID token that newer userinfo omits, for a check without a new ID token. Groups are excluded:
 * issuers omit an empty list, and a visitor who left the last group must not keep it.
 */
export function keepEarlierClaims(idToken: string, subject: string, info: JsonObject): JsonObject {
  const claims = payloadOf(idToken);
  if (claims["sub"] !== subject) return {};
  const names = ["name", "preferred_username", ...(hasClaim(info, "email") ? [] : ["email", "email_verified"])];
  const isLeft = (name: string): boolean =>
    hasClaim(claims, name) && (!hasClaim(info, name) || name === "email_verified");
  return Object.fromEntries(names.filter(isLeft).map((name) => [name, claims[name]]));
}

/** The token was verified when it arrived. */
function payloadOf(idToken: string): JsonObject {
  try {
    return idToken === "" ? {} : readSignedToken(idToken, maxIdTokenBytes).payload;
  } catch (error) {
    if (error instanceof TokenFault) return {};
    throw error;
  }
}

/** `email_verified` applies to the address in the same document, never to one from the other source (security I5). */
function emailOf(claims: JsonObject, info: JsonObject, issuer: string): Pick<Identity, "email" | "emailVerified"> {
  const vouches = ({ email_verified: verified }: JsonObject): boolean =>
    verified === true || (verified === "true" && sendsTextBooleans.test(issuer));
  const signed = textOf(claims, "email");
  const email = textOf(info, "email");
  if (!hasClaim(claims, "email")) return { email: email, emailVerified: email !== "" && vouches(info) };
  const isBoth = signed !== "" && signed === email && !hasClaim(claims, "email_verified");
  return { email: signed, emailVerified: signed !== "" && (vouches(claims) || (isBoth && vouches(info))) };
}

/** A list, or a single name, because some issuers send a list of one that way. */
function groupsOf(groups: unknown): readonly string[] {
  const listed = typeof groups === "string" ? [groups] : groups;
  if (!Array.isArray(listed)) return [];
  return listed.filter((one): one is string => typeof one === "string").slice(0, maxGroups);
}
