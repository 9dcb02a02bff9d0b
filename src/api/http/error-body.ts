/** Converts every error of a request into the common error format (semantics, "Statuses and errors"). */
import { Refusal, catalogue, errorCode } from "../../lib/errors.ts";

/** Returns the body of an error response. Any error other than `Refusal` becomes `internal`, without its message. */
export function errorBody(
  error: unknown,
  operationId: string,
  details: Readonly<Record<string, string>> = {},
): { readonly status: number; readonly body: string } {
  const refusal = error instanceof Refusal ? error : undefined;
  const reason = refusal?.reason ?? "internal";
  const { status, what, fix } = catalogue[reason];
  const msg = refusal ? refusal.message : `${what} ${fix}`;
  return {
    status,
    body: JSON.stringify({
      error_code: errorCode(reason),
      status_code: status,
      msg,
      details: { ...refusal?.details, ...details, operation_id: operationId },
    }),
  };
}
