import { Refusal } from "../../lib/errors.ts";
import type { Issue } from "../../schema/fields.ts";

/** Returns the refusal of an input with issues: one entry of `details` per field path. */
export function inputRefusal(action: string, issues: readonly Issue[]): Refusal {
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
  return new Refusal(reason, `${action}: ${subject} ${first.message}${more}`, details);
}
