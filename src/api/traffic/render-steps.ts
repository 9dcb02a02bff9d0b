import type { StepReport } from "../../routing/planes/edge-questions.ts";

/** Returns steps as clients see them. */
export function renderSteps(reports: readonly StepReport[]): readonly Record<string, unknown>[] {
  return reports.map(({ by, outcome, reason, decidedBy, rule }) => ({
    by,
    outcome,
    reason,
    decided_by: decidedBy ?? null,
    rule: rule ?? null,
  }));
}
