/** Everything that goes wrong with a request → the one shape of errors (semantics, "Statuses and errors"). */
import { Refusal, catalogue, errorCode } from "../../lib/errors.ts";

/** The body of an error response. Anything that is no `Refusal` is answered as `internal`, without its words. */
export function errorBody(
  error: unknown,
  operationId: string,
  more: Readonly<Record<string, string>> = {},
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
      details: { ...refusal?.details, ...more, operation_id: operationId },
    }),
  };
}
