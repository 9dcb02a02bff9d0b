/** Everything that goes wrong with a request → the one shape of errors (semantics, "Statuses and errors"). */
import { Refusal, catalogue, errorCode } from "../../lib/errors.ts";
import type { Issue } from "../../schema/fields.ts";

/** The refusal for an input with issues: one entry of `details` per field path. */
export function inputRefusal(attempt: string, issues: readonly Issue[]): Refusal {
  const reasons = new Set(issues.map((issue) => issue.reason ?? "invalid_field"));
  const first = issues[0] as Issue;
  const reason = reasons.has("unknown_field")
    ? "unknown_field"
    : reasons.size === 1
      ? (first.reason ?? "invalid_field")
      : "invalid_field";
  const more = issues.length > 1 ? `; and ${issues.length - 1} more in details` : "";
  const subject = first.path === "" ? "the body" : `"${first.path}"`;
  const details: Record<string, string> = {};
  for (const issue of issues) {
    const path = issue.path === "" ? "body" : issue.path;
    details[path] = details[path] === undefined ? issue.message : `${details[path]}; ${issue.message}`;
  }
  return new Refusal(reason, `${attempt}: ${subject} ${first.message}${more}`, details);
}

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
