import type { Answer, Step } from "../../traffic/step.ts";

/** A step that refuses a visitor with its own page or text. */
export function turnAway(by: string, reason: string, answer: Answer, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "denied" as const, reason, answer, ...(decidedBy && { decidedBy }) });
}
