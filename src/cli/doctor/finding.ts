import { visibleLine } from "../../lib/visible-text.ts";

/** What a check has found. */
export interface Finding {
  /** `warning`: it works, and perhaps not for everybody. */
  readonly outcome: "fine" | "warning" | "wrong";
  /** The name or object that it is about. */
  readonly about: string;
  /** What is, and where it is not as it should be, what to do. */
  readonly message: string;
}

const marks = { fine: "✓", warning: "!", wrong: "✗" } as const;

export function lineOf({ outcome, about, message }: Finding): string {
  return `${marks[outcome]} ${visibleLine(`${about}: ${message}`)}`;
}

/** On stdout: a line each, or as JSON. */
export function printFindings(findings: readonly Finding[], json: boolean): void {
  process.stdout.write(
    json ? `${JSON.stringify({ findings })}\n` : findings.map((finding) => `${lineOf(finding)}\n`).join(""),
  );
}
