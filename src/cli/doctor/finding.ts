import { toVisibleLine } from "../../lib/visible-text.ts";

/** Result of one check. */
export interface Finding {
  /** `warning`: it works, but perhaps not for all clients. */
  readonly outcome: "fine" | "warning" | "wrong";
  /** Name or object that was checked. */
  readonly about: string;
  /** The state that was found and, for a problem, how to fix it. */
  readonly message: string;
}

const marks = { fine: "✓", warning: "!", wrong: "✗" } as const;

export function lineOf({ outcome, about, message }: Finding): string {
  return `${marks[outcome]} ${toVisibleLine(`${about}: ${message}`)}`;
}

/** Prints the findings to stdout, one per line or as JSON. */
export function printFindings(findings: readonly Finding[], json: boolean): void {
  process.stdout.write(
    json ? `${JSON.stringify({ findings })}\n` : findings.map((finding) => `${lineOf(finding)}\n`).join(""),
  );
}
