/** What a token says of itself (RFC 7519 §4.1, RFC 8725 §3.8–3.12). Only worth asking of one whose signature is right. */
import type { SignedToken } from "./compact.ts";

export interface ExpectedClaims {
  /** One of them, to the character. */
  readonly issuers: readonly string[];
  /** One of the token's is one of them; not asked when absent. */
  readonly audiences?: readonly string[] | undefined;
  /** Media types that `typ` may name, lower-case and without `application/`; `""` for a token without one. */
  readonly types: readonly string[];
  /** Clocks may differ by so much; 60 s unless given. */
  readonly leewaySeconds?: number;
  /** Seconds since a token was made; not asked when absent. */
  readonly maxAgeSeconds?: number;
  /** A token need not say when it ends. */
  readonly mayLackExpiry?: boolean;
}

export type ClaimFault =
  | "type"
  | "issuer"
  | "audience"
  | "expired"
  | "no_expiry"
  | "too_early"
  | "issued_later"
  | "time";

/** Types of tokens that admit requests. Others (of logouts, events, proofs) are signed by the same keys. */
export const tokenTypes = {
  id_token: ["", "jwt"],
  /** RFC 9068 §2.1 and what issuers gave before it. */
  access_token: ["", "jwt", "at+jwt"],
  "at+jwt": ["at+jwt"],
  "it+jwt": ["it+jwt"],
  jwt: ["", "jwt", "at+jwt", "it+jwt"],
  plain: ["", "jwt", "at+jwt", "it+jwt"],
} as const;

const defaultLeewaySeconds = 60;

/**
 * The first thing that is wrong.
 * @param nowMs since 1970
 */
export function checkClaims(
  { header, payload }: Pick<SignedToken, "header" | "payload">,
  { issuers, audiences, types, leewaySeconds = defaultLeewaySeconds, maxAgeSeconds, mayLackExpiry }: ExpectedClaims,
  nowMs: number,
): ClaimFault | undefined {
  if (!types.includes(typeOf(header["typ"]))) return "type";
  const { iss, aud, exp, nbf, iat } = payload;
  if (typeof iss !== "string" || !issuers.includes(iss)) return "issuer";
  if (audiences && !audiencesOf(aud).some((one) => audiences.includes(one))) return "audience";
  if (exp === undefined && !mayLackExpiry) return "no_expiry";
  const areTimes = isTimeOrNone(exp) && isTimeOrNone(nbf) && isTimeOrNone(iat);
  if (!areTimes) return "time";
  const now = nowMs / 1000;
  if (exp !== undefined && now >= exp + leewaySeconds) return "expired";
  if (nbf !== undefined && now < nbf - leewaySeconds) return "too_early";
  if (iat !== undefined && now < iat - leewaySeconds) return "issued_later";
  if (maxAgeSeconds === undefined) return undefined;
  if (iat === undefined) return "time";
  return now - iat > maxAgeSeconds + leewaySeconds ? "expired" : undefined;
}

/** RFC 7515 §4.1.9: without a slash, `application/` is meant; media types ignore case. */
function typeOf(typ: unknown): string {
  if (typ === undefined) return "";
  return typeof typ === "string" && typ !== "" ? typ.toLowerCase().replace(/^application\//, "") : "none";
}

/** One text, or a list of nothing but texts. */
function audiencesOf(aud: unknown): readonly string[] {
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) && aud.every((one) => typeof one === "string") ? (aud as string[]) : [];
}

/** NumericDate: seconds since 1970, perhaps with a fraction. */
function isTimeOrNone(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === "number" && Number.isFinite(value) && value >= 0);
}
