/** What an issuer says of somebody, signed (OpenID Connect Core §3.1.3.7, and the stricter of RFC 8725). */
import { hash as digest } from "node:crypto";
import { compactVerify } from "jose";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { KeySet } from "./key-set.ts";

export interface Expected {
  readonly issuer: string | ((claims: JsonObject) => string);
  readonly clientId: string;
  /** Undefined: none is expected, as after a refresh (OpenID Connect Core §12.2). */
  readonly nonce: string | undefined;
  /** The access token that came with it; "" for none. */
  readonly accessToken: string;
  /** As the issuer lists them. */
  readonly algorithms: readonly string[];
  readonly nowMs: number;
  readonly skewSeconds: number;
  /** A token of a log-out is expected (Back-Channel Logout §2.4). */
  readonly logout?: boolean;
}

/** Never `none`, never a shared secret. */
export const signatureAlgorithms: readonly string[] =
  "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split(" ");
const maxTokenLength = 64 * 1024;
const maxAgeSeconds = 600;

/** The claims of a token that keeps to everything; rejects with `login_token_invalid` and what is wrong. */
export async function verifyIdToken(token: string, keys: KeySet, expected: Expected): Promise<JsonObject> {
  const { payload, algorithm } = await verifySignature(token, keys, expected.algorithms, expected.logout === true);
  checkClaims(payload, expected, algorithm);
  return payload;
}

async function verifySignature(
  token: string,
  keys: KeySet,
  listed: readonly string[],
  logout: boolean,
): Promise<{ readonly payload: JsonObject; readonly algorithm: string }> {
  const parts = token.split(".");
  if (token.length > maxTokenLength || parts.length !== 3 || !parts.every((part) => /^[\w-]+$/.test(part))) {
    throw bad("it is no signed token");
  }
  const { alg, typ, crit, kid } = readPart(parts[0] as string, "header");
  if (typeof alg !== "string" || !signatureAlgorithms.includes(alg)) throw bad(`its algorithm is ${shown(alg)}`);
  if (!listed.includes(alg)) throw bad(`the issuer does not list its algorithm ${alg}`);
  if (crit !== undefined) throw bad("it has critical extensions");
  const types = logout ? ["jwt", "logout+jwt"] : ["jwt"];
  if (typ !== undefined && !(typeof typ === "string" && types.includes(typ.toLowerCase()))) {
    throw bad(`its type is ${shown(typ)}`);
  }
  if (kid !== undefined && typeof kid !== "string") throw bad("its key id is no text");
  // jku, jwk, x5u and x5c are never looked at: only the issuer's own key set counts (I1).
  for (const key of await keys.candidates(alg, kid)) {
    const verified = await compactVerify(token, key, { algorithms: [alg] }).catch(() => undefined);
    if (verified) return { payload: readPart(parts[1] as string, "content"), algorithm: alg };
  }
  throw bad("its signature does not verify");
}

function checkClaims(claims: JsonObject, expected: Expected, algorithm: string): void {
  const { clientId, nonce, accessToken, nowMs, skewSeconds, logout = false } = expected;
  const issuer = typeof expected.issuer === "string" ? expected.issuer : expected.issuer(claims);
  const now = nowMs / 1000;
  if (claims["iss"] !== issuer) throw bad(`it is issued by ${shown(claims["iss"])} and not by "${issuer}"`);
  checkAudience(claims, clientId);
  const { exp, iat, nbf, sub } = claims;
  const needsNoEnd = logout && exp === undefined;
  if (!needsNoEnd && !(isTime(exp) && exp + skewSeconds > now)) throw bad("it has expired");
  if (!isTime(iat) || iat > now + skewSeconds) throw bad("it is issued in the future");
  if (iat < now - maxAgeSeconds - skewSeconds) throw bad("it was issued too long ago");
  if (nbf !== undefined && !(isTime(nbf) && nbf <= now + skewSeconds)) throw bad("it is not valid yet");
  if (sub === undefined ? !logout : !isSubject(sub)) throw bad("it names nobody");
  if (logout) {
    if (claims["nonce"] !== undefined) throw bad("it is of no log-out: it has a nonce");
    return;
  }
  if (nonce !== undefined && claims["nonce"] !== nonce) throw bad("its nonce is not the one of this login");
  const accessHash = claims["at_hash"];
  if (accessHash !== undefined && accessHash !== halfHash(accessToken, algorithm)) {
    throw bad("it belongs to another access token (at_hash)");
  }
}

function checkAudience({ aud, azp }: JsonObject, clientId: string): void {
  const audiences = Array.isArray(aud) ? (aud as unknown[]) : [aud];
  const areTexts = audiences.every((one) => typeof one === "string");
  if (!areTexts || !audiences.includes(clientId)) throw bad("it is meant for another client");
  if (azp !== undefined && azp !== clientId) throw bad("it is made out to another client (azp)");
  if (audiences.length > 1 && azp === undefined)
    throw bad("it is meant for several clients, and does not say for whom");
}

/** Left half of the hash that belongs to the algorithm (OpenID Connect Core §3.1.3.6). */
function halfHash(text: string, algorithm: string): string {
  const size = algorithm === "EdDSA" ? "512" : algorithm.slice(2);
  const whole = digest(`sha${size}`, text, "buffer");
  return whole.subarray(0, whole.length / 2).toString("base64url");
}

function readPart(part: string, what: string): JsonObject {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.toString("base64url") !== part) throw bad(`its ${what} is not base64url`);
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    throw error instanceof JsonIssue ? bad(`its ${what} ${error.message}`) : error;
  }
}

export function isSubject(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 255;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : typeof value;
}

function bad(why: string): LoginRefusal {
  return new LoginRefusal("login_token_invalid", `the provider's token is refused: ${why}`);
}
