import type { Answer, Step } from "../../traffic/step.ts";

/** A step that lets nobody in, with a page or text of its own. */
export function turnedAway(by: string, reason: string, answer: Answer, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "denied" as const, reason, answer, ...(decidedBy && { decidedBy }) });
}
