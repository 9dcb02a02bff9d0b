/** Counts work before it is done, and holds what one evaluation reads: its activation and the variables of its loops. */
import { Failure } from "./failure.ts";
import { defaultLimits } from "./limits.ts";
import type { Limits } from "./limits.ts";
import type { Value } from "./values.ts";

/** Steps that several evaluations share, e.g. all those of one request; and what they use one after the other. */
export interface Budget {
  steps: number;
  /** Of the evaluation before, to be used again. */
  run?: Run | undefined;
}

export type Result = Value | Failure;

/** Pays for work. Every method returns a final failure when a bound is reached; the work must then not be done. */
export class Meter {
  /** What is left. */
  steps = 0;
  limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.limits = limits;
  }

  spend(steps: number): Failure | undefined {
    this.steps -= steps;
    return this.steps < 0 ? outOfSteps() : undefined;
  }

  /**
   * For reading or making so many UTF-16 code units or bytes. Work that takes longer than half a microsecond for 64 of
   * them passes a multiple of the length.
   */
  spendText(length: number): Failure | undefined {
    return this.spend((length + 63) >> 6);
  }

  /** For looking for one text in another: the worst case grows with both. */
  spendSearch(length: number, wanted: number): Failure | undefined {
    return this.spend(((length + 63) >> 6) * ((wanted + 63) >> 6));
  }

  /** For reading so many items of a list, or keys of a map. */
  spendItems(count: number): Failure | undefined {
    return this.spend((count + 15) >> 4);
  }

  /** For a text that is about to be made. */
  makeText(length: number): Failure | undefined {
    return length > this.limits.textLength ? tooLong(this.limits) : this.spendText(length);
  }

  /** For a list or map of so many items that is about to be made. */
  makeItems(count: number): Failure | undefined {
    if (count > this.limits.items) return new Failure(`a list or map has more than ${this.limits.items} items`, true);
    return this.spendItems(count);
  }
}

/** One evaluation under way. */
export class Run extends Meter {
  activation: unknown;
  /** Values of loop variables, by the place that the compiler gave each; while there are none, no list. */
  locals: Value[] | undefined = undefined;
}

export function outOfSteps(): Failure {
  return new Failure("the evaluation takes more steps than it may", true);
}

export function tooLong({ textLength }: Limits): Failure {
  return new Failure(`a text is longer than ${textLength} characters`, true);
}
