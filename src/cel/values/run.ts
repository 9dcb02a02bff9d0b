/** One evaluation under way: what it reads, what it may still take, and the variables of its loops. */
import { Failure } from "./failure.ts";
import type { Limits } from "./limits.ts";
import type { Value } from "./values.ts";

/** Steps that several evaluations share, e.g. all those of one request; and what they use one after the other. */
export interface Budget {
  steps: number;
  /** Of the evaluation before, to be used again. */
  run?: Run | undefined;
}

export type Result = Value | Failure;

export class Run {
  limits: Limits;
  activation: unknown;
  /** What is left. */
  steps = 0;
  /** Values of loop variables, by the place that the compiler gave each; while there are none, no list. */
  locals: Value[] | undefined = undefined;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  /** Takes steps; a failure that is final when there are not so many left. */
  spend(steps: number): Failure | undefined {
    this.steps -= steps;
    return this.steps < 0 ? outOfSteps() : undefined;
  }

  /**
   * For reading or making so many UTF-16 code units or bytes. What takes longer than half a microsecond for 64 of them
   * says that there are more.
   */
  spendText(length: number): Failure | undefined {
    return this.spend((length + 63) >> 6);
  }

  /** For looking for one text in another: the worst case grows with both. */
  spendSearch(length: number, wanted: number): Failure | undefined {
    return this.spend(((length + 63) >> 6) * ((wanted + 63) >> 6));
  }

  /** For a text that is about to be made. */
  makeText(length: number): Failure | undefined {
    if (length > this.limits.textLength)
      return new Failure(`a text is longer than ${this.limits.textLength} characters`);
    return this.spendText(length);
  }

  /** For a list or map of so many items that is about to be made. */
  makeItems(count: number): Failure | undefined {
    if (count > this.limits.items) return new Failure(`a list or map has more than ${this.limits.items} items`);
    return this.spend((count + 15) >> 4);
  }
}

export function outOfSteps(): Failure {
  return new Failure("the evaluation takes more steps than it may", true);
}
