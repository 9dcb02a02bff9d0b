/** Checks the claims of a token (RFC 7519 §4.1, RFC 8725 §3.8–3.12). Use it only after the signature was verified. */
import type { SignedToken } from "./compact.ts";

export interface ExpectedClaims {
  /** Exact values, one of which must match. */
  readonly issuers: readonly string[];
  /** Audiences, one of which the token must contain. Not checked if absent. */
  readonly audiences?: readonly string[] | undefined;
  /** Media types allowed in `typ`, lower case and without `application/`; `""` allows a token without one. */
  readonly types: readonly string[];
  /** Tolerated clock difference. Default: 60 s. */
  readonly leewaySeconds?: number;
  /** Maximum age of the token, seconds. Not checked if absent. */
  readonly maxAgeSeconds?: number;
  /** Whether the token may lack an expiry. */
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

/** Types of tokens that authorize requests. The same keys sign other types, such as logout tokens. */
export const tokenTypes = {
  id_token: ["", "jwt"],
  /** RFC 9068 §2.1, and the types that issuers used before it. */
  access_token: ["", "jwt", "at+jwt"],
  "at+jwt": ["at+jwt"],
  "it+jwt": ["it+jwt"],
  jwt: ["", "jwt", "at+jwt", "it+jwt"],
  plain: ["", "jwt", "at+jwt", "it+jwt"],
} as const;

const defaultLeewaySeconds = 60;

/**
 * Returns the first fault.
 * @param nowMs milliseconds since 1970
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

/** RFC 7515 §4.1.9: without a slash, `application/` is implied. Media types ignore case. */
function typeOf(typ: unknown): string {
  if (typ === undefined) return "";
  return typeof typ === "string" && typ !== "" ? typ.toLowerCase().replace(/^application\//, "") : "none";
}

/** A string, or a list of strings. */
function audiencesOf(aud: unknown): readonly string[] {
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) && aud.every((one) => typeof one === "string") ? (aud as string[]) : [];
}

/** NumericDate: seconds since 1970, perhaps with a fraction. */
function isTimeOrNone(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === "number" && Number.isFinite(value) && value >= 0);
}
