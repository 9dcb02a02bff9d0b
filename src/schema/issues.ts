/** What is wrong with an input, in words. */
import { isSealedField } from "./concealment.ts";
import type { Field, Issue } from "./fields.ts";

/** More would not be read by anybody. */
const maxIssues = 50;
/** Characters of a value that a message repeats. */
export const maxShown = 64;
/** Longest text that counts as a value, bytes. Fields with room for more hold documents, which no message repeats. */
const maxValueBytes = 4096;

/** Adds what `rules` find wrong with `doc`; `path` is where `doc` is. */
export function checkRules(
  rules: readonly { check(doc: never): Issue | undefined }["check"][],
  doc: Readonly<Record<string, unknown>>,
  path: string,
  issues: Issue[],
): void {
  for (const rule of rules) {
    const issue = rule(doc as never);
    if (issue) add(issues, { ...issue, path: [path, issue.path].filter((part) => part !== "").join(".") });
  }
}

export function wrong(
  field: Field,
  must: string,
  given: unknown,
  path: string,
  issues: Issue[],
  reason?: Issue["reason"],
): undefined {
  const isHidden = isSealedField(field) || field.writeOnly || isDocument(field);
  const message = isHidden ? must : `${must}, is ${shown(given)}`;
  add(issues, { path, message, ...(reason && { reason }) });
  return undefined;
}

/** Whether the field holds a whole file: callers paste the wrong one, such as a private key. */
function isDocument(field: Field): boolean {
  return field.type === "string" && field.maxBytes > maxValueBytes;
}

export function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? "absent";
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

export function add(issues: Issue[], issue: Issue): void {
  if (issues.length < maxIssues) issues.push(issue);
}
