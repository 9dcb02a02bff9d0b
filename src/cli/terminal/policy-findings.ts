/** Formats the errors and warnings of a policy for people: one line each, and the position in the expression. */
import type { styleText } from "node:util";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { styleFor as styled } from "./guarded-output.ts";
import { errorCode } from "../../lib/errors.ts";
import type { PolicyCompilation } from "../../policy/compile-policy.ts";
import { policyPlaces } from "../../policy/policy-places.ts";
import type { PolicyIssue, PolicyWarning } from "../../policy/policy-issue.ts";

type PolicyFindings = Pick<PolicyCompilation, "issues" | "warnings">;

/** Ends with a line break. `output` decides whether colours are used. */
export function renderFindings(
  file: string,
  text: string,
  { issues, warnings }: PolicyFindings,
  output: NodeJS.WritableStream,
): string {
  const style = (format: Parameters<typeof styleText>[0], words: string): string => styled(format, words, output);
  const placeOf = policyPlaces(text);
  const shown = (finding: PolicyWarning, kind: string): string => {
    const { path, message } = finding;
    const { line } = placeOf(finding);
    const code = "reason" in finding ? ` (${errorCode((finding as PolicyIssue).reason)})` : "";
    const head = `${style("bold", `${file}:${line}`)}: ${kind}: ${path === "" ? "" : `${toVisibleLine(path)}: `}${toVisibleLine(message)}${code}\n`;
    return head + renderExcerpt(finding, (caret) => style("green", caret));
  };
  return [
    ...issues.map((issue) => shown(issue, style("red", "error"))),
    ...warnings.map((warning) => shown(warning, style("yellow", "warning"))),
    ...(issues.length + warnings.length === 0 ? [`${file}: no errors\n`] : []),
  ].join("");
}

/** Returns the same findings for programs. */
export function findingsAsJson(file: string, text: string, { issues, warnings }: PolicyFindings): object {
  const placeOf = policyPlaces(text);
  const plain = (finding: PolicyWarning): object => ({
    path: finding.path,
    message: finding.message,
    ...placeOf(finding),
    expression: finding.at ? { line: finding.at.line, column: finding.at.column } : null,
  });
  return {
    file,
    issues: issues.map((issue) => ({ ...plain(issue), error_code: errorCode(issue.reason) })),
    warnings: warnings.map(plain),
  };
}

/** Maximum length of the shown part of a line, characters. */
const width = 100;

function renderExcerpt({ at }: PolicyWarning, mark: (caret: string) => string): string {
  if (!at) return "";
  const line = Array.from(toPrintable(at.source.split("\n")[at.line - 1] ?? ""));
  const start = Math.max(0, at.column - 1 - width / 2);
  const shown = line.slice(start, start + width).join("");
  return `    ${shown}\n    ${" ".repeat(at.column - 1 - start)}${mark("^")}\n`;
}

/** Replaces each character by one character, so that the caret below points to the right place. */
function toPrintable(text: string): string {
  return Array.from(text, (sign) => (toVisibleLine(sign) === sign ? sign : "\u{fffd}")).join("");
}
