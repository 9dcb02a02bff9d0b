/** The API rejected the request. */
export class PosternError extends Error {
  override readonly name = "PosternError";
  /** Stable error code, e.g. `ERR_POSTERN_222`; `errorCodes` lists them by name. */
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  /** Details; for invalid input one entry per field. */
  readonly details: Readonly<Record<string, string>>;
  /** Id of the request, as in the server's log. */
  readonly operationId: string;
  /** Seconds to wait before the next attempt, if the server sent them. */
  readonly retryAfterSeconds: number | undefined;

  constructor(body: ErrorBody, retryAfter: string | null) {
    super(body.msg);
    this.code = body.error_code;
    this.status = body.status_code;
    this.details = body.details;
    this.operationId = body.details["operation_id"] ?? "";
    this.retryAfterSeconds = retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  }
}

/** The API could not be reached, or the response is not from the API. The request may have been executed. */
export class PosternConnectionError extends Error {
  override readonly name = "PosternConnectionError";
}

export interface ErrorBody {
  readonly error_code: string;
  readonly status_code: number;
  readonly msg: string;
  readonly details: Readonly<Record<string, string>>;
}

/** Returns the body of an error response; undefined for anything else. */
export function asErrorBody(body: unknown): ErrorBody | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { error_code, status_code, msg, details } = body as Partial<ErrorBody>;
  const whole =
    typeof error_code === "string" &&
    typeof status_code === "number" &&
    typeof msg === "string" &&
    typeof details === "object" &&
    details !== null;
  return whole ? (body as ErrorBody) : undefined;
}
