/** Budget for compiling one expression, or all expressions of a policy. */
import { SourceFault } from "./source-fault.ts";

/** Steps of half a microsecond. An ordinary condition takes fewer than a hundred. */
const defaultSteps = 100_000;

export const tooMuchToCompile =
  "reading it, working out its types and compiling its regular expressions takes more steps than it may";

export class CompileBudget {
  steps: number;

  constructor(steps = defaultSteps) {
    this.steps = steps;
  }

  /** Takes steps. Returns false if there are not enough; then the work must not be done. */
  take(steps: number): boolean {
    this.steps -= steps;
    return this.steps >= 0;
  }

  /** The same, but throws `SourceFault`. */
  spend(steps: number): void {
    if (this.take(steps)) return;
    throw new SourceFault(0, tooMuchToCompile, "write it more simply, or split the policy");
  }
}
