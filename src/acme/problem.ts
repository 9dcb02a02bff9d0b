/** Failures of communication with an ACME server, and problems that it reports. */

/** The problem names of RFC 8555 §6.7 without their prefix, and additional names. */
export type AcmeProblemType = "unreachable" | "malformedAnswer" | "timeout" | (string & {});

export class AcmeProblem extends Error {
  readonly type: AcmeProblemType;
  /** Earliest time for a retry, as requested by the server. */
  readonly retryAfterMs: number | undefined;

  constructor(
    type: AcmeProblemType,
    message: string,
    options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.type = type;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const prefix = "urn:ietf:params:acme:error:";
/** Maximum length of the server's text, which is shown to users. */
const maxDetail = 1000;

/** Parses a problem document (RFC 7807) from an answer, authorization or order. */
export function readProblem(document: unknown, what: string, retryAfterMs?: number): AcmeProblem {
  const { type, detail, subproblems } = (typeof document === "object" && document !== null ? document : {}) as {
    readonly [name: string]: unknown;
  };
  const known = typeof type === "string" && type.startsWith(prefix) ? type.slice(prefix.length) : "serverInternal";
  const words = [
    detail,
    ...(Array.isArray(subproblems) ? subproblems.map((one: { detail?: unknown }) => one?.detail) : []),
  ]
    .filter((text): text is string => typeof text === "string")
    .join("; ");
  const shown = words.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, maxDetail);
  return new AcmeProblem(/^[A-Za-z]{1,64}$/.test(known) ? known : "serverInternal", `${what}: ${shown || known}`, {
    retryAfterMs,
  });
}
