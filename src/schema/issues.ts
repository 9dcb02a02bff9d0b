/** Messages about invalid input. */
import { isSealedField } from "./concealment.ts";
import type { Field, Issue } from "./fields.ts";

/** Maximum number of issues, because no one reads more. */
const maxIssues = 50;
/** Maximum number of characters of a value that a message repeats. */
export const maxShown = 64;
/** Longest text that counts as a value, bytes. Fields for longer text contain documents, which no message repeats. */
const maxValueBytes = 4096;

/** Adds the issues that `rules` find in `doc`, whose position is `path`. */
export function checkRules(
  rules: readonly { check(doc: never): Issue | undefined }["check"][],
  doc: Readonly<Record<string, unknown>>,
  path: string,
  issues: Issue[],
): void {
  for (const rule of rules) {
    const issue = rule(doc as never);
    if (issue) addIssue(issues, { ...issue, path: [path, issue.path].filter((part) => part !== "").join(".") });
  }
}

export function addWrong(
  field: Field,
  must: string,
  value: unknown,
  path: string,
  issues: Issue[],
  reason?: Issue["reason"],
): undefined {
  const isHidden = isSealedField(field) || field.writeOnly || isDocument(field);
  const message = isHidden ? must : `${must}, is ${renderValue(value)}`;
  addIssue(issues, { path, message, ...(reason && { reason }) });
  return undefined;
}

/** Whether the field contains a whole file. Callers sometimes paste the wrong one, such as a private key. */
function isDocument(field: Field): boolean {
  return field.type === "string" && field.maxBytes > maxValueBytes;
}

export function renderValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? "absent";
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

export function addIssue(issues: Issue[], issue: Issue): void {
  if (issues.length < maxIssues) issues.push(issue);
}
