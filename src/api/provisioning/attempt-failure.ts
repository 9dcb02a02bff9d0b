import { AcmeProblem } from "../../acme/problem.ts";
import { Refusal } from "../../lib/errors.ts";

/** Why a domain has no certificate, as its status shows it. */
export interface AttemptFailure {
  readonly code: string;
  readonly message: string;
  /** Earliest time at which the authority accepts another attempt. */
  readonly retryAfterMs?: number | undefined;
  /** The internal fault, for the log. */
  readonly cause?: unknown;
}

/** By the problem types of RFC 8555 §6.7 and our own. All others count as faults of the authority. */
const codes: Readonly<Record<string, string>> = {
  dns: "DNS_ERROR",
  caa: "CAA_ERROR",
  connection: "CONNECTION_ERROR",
  tls: "CONNECTION_ERROR",
  unauthorized: "CHALLENGE_FAILED",
  incorrectResponse: "CHALLENGE_FAILED",
  noChallenge: "CHALLENGE_UNSUPPORTED",
  rateLimited: "RATE_LIMITED",
  rejectedIdentifier: "DOMAIN_REJECTED",
  unsupportedIdentifier: "DOMAIN_REJECTED",
  externalAccountRequired: "ACCOUNT_REJECTED",
  userActionRequired: "ACCOUNT_REJECTED",
  invalidContact: "ACCOUNT_REJECTED",
  unsupportedContact: "ACCOUNT_REJECTED",
  unreachable: "AUTHORITY_UNREACHABLE",
  timeout: "AUTHORITY_TIMEOUT",
  noEdge: "EDGE_UNAVAILABLE",
  dnsProvider: "DNS_PROVIDER_ERROR",
  dnsLookup: "DNS_LOOKUP_ERROR",
  dnsZone: "DNS_ZONE_REFUSED",
  dnsPropagation: "DNS_PROPAGATION_TIMEOUT",
};

export const wildcardRefused: AttemptFailure = {
  code: "WILDCARD_UNSUPPORTED",
  message:
    "Wildcard certificates need DNS checks, and the server's operator has not set a DNS provider (--acme-dns-provider), or has set another --acme-challenge: upload a certificate and set certificate_id.",
};

export const termsNotAgreed: AttemptFailure = {
  code: "TERMS_NOT_AGREED",
  message: "The server's operator has not accepted the certificate authority's terms (--acme-agree).",
};

/** Shows the authority's messages, but not those of internal faults. */
export function failureOf(error: unknown): AttemptFailure {
  if (error instanceof AcmeProblem) {
    const { type, message, retryAfterMs } = error;
    return { code: codes[type] ?? "AUTHORITY_ERROR", message, retryAfterMs, cause: causeOf(error) };
  }
  const message =
    error instanceof Refusal ? error.message : "The server could not get the certificate; its log has the reason.";
  return { code: "INTERNAL_ERROR", message, cause: error };
}

/** The output of the operator's DNS program, which only the log shows. */
function causeOf({ type, cause }: AcmeProblem): unknown {
  return type === "dnsProvider" && cause !== "" ? cause : undefined;
}

const firstPauseMs = 60_000;
const longestPauseMs = 12 * 60 * 60 * 1000;
/** Maximum delay by the authority that is respected. */
const longestWishMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Returns the pause after `failures` in a row, milliseconds. It doubles from a minute to half a day. A random share of
 * it applies, from half to all. It is never shorter than the authority asks for.
 */
export function pauseMs(failures: number, retryAfterMs: number | undefined, random: () => number): number {
  const whole = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 16));
  return Math.max(Math.round(whole / 2 + (whole / 2) * random()), Math.min(retryAfterMs ?? 0, longestWishMs));
}
