/** Verifies an issuer's id_token (OpenID Connect Core §3.1.3.7, and the stricter rules of RFC 8725). */
import { hash as digest } from "node:crypto";
import type { SignatureAlgorithm } from "../../jose/algorithms.ts";
import { checkClaims } from "../../jose/token-claims.ts";
import type { ClaimFault } from "../../jose/token-claims.ts";
import { readSignedToken, TokenFault } from "../../jose/compact.ts";
import type { SignedToken } from "../../jose/compact.ts";
import { verifyToken } from "../../jose/verify-token.ts";
import type { SignatureCheck } from "../../jose/verify-token.ts";
import type { JsonObject } from "../../lib/json.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { KeySet } from "./issuer-keys.ts";

export interface ExpectedToken {
  readonly issuer: string | ((claims: JsonObject) => string);
  readonly clientId: string;
  /** Undefined if none is expected, as after a refresh (OpenID Connect Core §12.2). */
  readonly nonce: string | undefined;
  /** The access token that came with it; "" if there was none. */
  readonly accessToken: string;
  /** The algorithms in the issuer's metadata. */
  readonly algorithms: readonly SignatureAlgorithm[];
  readonly nowMs: number;
  readonly skewSeconds: number;
  /** Whether a logout token is expected (Back-Channel Logout §2.4). */
  readonly logout?: boolean;
}

/** Equal to the limit of the answer or form that contains it. */
export const maxIdTokenBytes = 64 * 1024;
const maxAgeSeconds = 600;

const idTokenTypes = ["", "jwt"];
const logoutTokenTypes = [...idTokenTypes, "logout+jwt"];

/** Returns the claims of a valid token. Rejects with `login_token_invalid` and the fault. */
export async function verifyIdToken(text: string, keys: KeySet, expected: ExpectedToken): Promise<JsonObject> {
  const token = readToken(text);
  await checkSignature(token, keys, expected.algorithms);
  checkStandardClaims(token, expected);
  checkOwnClaims(token, expected);
  return token.payload;
}

/**
 * Returns the claims of a signed userinfo response (OpenID Connect Core §5.3.2). It needs neither times nor a nonce.
 * Issuer and audience must match if present.
 */
export async function verifyUserinfo(text: string, keys: KeySet, expected: ExpectedToken): Promise<JsonObject> {
  const token = readToken(text);
  await checkSignature(token, keys, expected.algorithms);
  const { iss, aud } = token.payload;
  if (iss !== undefined && iss !== expected.issuer) throw refuseToken("its userinfo has another issuer");
  if (aud !== undefined && ![aud].flat().includes(expected.clientId)) throw refuseToken(faults.audience);
  return token.payload;
}

function readToken(text: string): SignedToken {
  try {
    return readSignedToken(text, maxIdTokenBytes);
  } catch (error) {
    throw error instanceof TokenFault ? refuseToken(`it ${error.message}`) : error;
  }
}

const unverified: Readonly<Record<Exclude<SignatureCheck, "verified">, string>> = {
  algorithm: "the issuer does not list its algorithm",
  no_key: "the issuer's key set does not have its key",
  signature: "its signature is invalid",
};

async function checkSignature(token: SignedToken, keys: KeySet, listed: readonly SignatureAlgorithm[]): Promise<void> {
  // `verifyToken` would refuse the algorithm as well, but only after fetching keys.
  const isListed = listed.some((one) => one === token.algorithm);
  const verdict = isListed ? await verifyToken(token, listed, await keys.keysFor(token.keyId)) : "algorithm";
  if (verdict !== "verified") throw refuseToken(`${unverified[verdict]} (${renderValue(token.algorithm)})`);
}

const faults: Readonly<Record<ClaimFault, string>> = {
  type: "it has another type",
  issuer: "it has another issuer",
  audience: "it is for another client",
  expired: "it has expired, or was issued too long ago",
  no_expiry: "it has no expiry time",
  too_early: "it is not valid yet",
  issued_later: "it is issued in the future",
  time: "it has a missing or invalid time",
};

/** Claims of every token (RFC 7519 §4.1). */
function checkStandardClaims(token: SignedToken, expected: ExpectedToken): void {
  const { clientId, nowMs, skewSeconds: leewaySeconds, logout = false } = expected;
  const issuer = typeof expected.issuer === "string" ? expected.issuer : expected.issuer(token.payload);
  const types = logout ? logoutTokenTypes : idTokenTypes;
  const wanted = { issuers: [issuer], audiences: [clientId], types, leewaySeconds, maxAgeSeconds };
  const fault = checkClaims(token, { ...wanted, mayLackExpiry: logout }, nowMs);
  if (fault === "issuer")
    throw refuseToken(`its issuer is ${renderValue(token.payload["iss"])} instead of "${issuer}"`);
  if (fault) throw refuseToken(faults[fault]);
}

/** Claims of OpenID Connect. */
function checkOwnClaims({ payload, algorithm }: SignedToken, expected: ExpectedToken): void {
  const { clientId, nonce, accessToken, logout = false } = expected;
  const { aud, azp, sub, at_hash: accessHash } = payload;
  if (azp !== undefined && azp !== clientId) throw refuseToken("it is for another client (azp)");
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) {
    throw refuseToken("it is for several clients, without azp");
  }
  if (sub === undefined ? !logout : !isSubject(sub)) throw refuseToken("it has no subject");
  if (logout) {
    if (payload["nonce"] !== undefined) throw refuseToken("it is not a logout token: it has a nonce");
    return;
  }
  if (nonce !== undefined && payload["nonce"] !== nonce) throw refuseToken("its nonce does not belong to this login");
  if (accessHash !== undefined && accessHash !== computeHalfHash(accessToken, algorithm)) {
    throw refuseToken("it belongs to another access token (at_hash)");
  }
}

/** Left half of the hash that belongs to the algorithm (OpenID Connect Core §3.1.3.6). */
function computeHalfHash(text: string, algorithm: string): string {
  const size = algorithm === "EdDSA" ? "512" : algorithm.slice(2);
  const whole = digest(`sha${size}`, text, "buffer");
  return whole.subarray(0, whole.length / 2).toString("base64url");
}

/** When a verified token becomes too old to be used again, milliseconds since 1970. */
export function takenUntilMs({ iat }: JsonObject, skewSeconds: number): number {
  return ((iat as number) + maxAgeSeconds + skewSeconds) * 1000 + 1;
}

export function isSubject(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 255;
}

function renderValue(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : typeof value;
}

function refuseToken(why: string): LoginRefusal {
  return new LoginRefusal("login_token_invalid", `the provider's token is rejected: ${why}`);
}
