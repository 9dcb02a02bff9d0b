/** Charges work before it is done, and holds the state of one evaluation: its activation and loop variables. */
import { Failure } from "./failure.ts";
import { defaultLimits } from "./limits.ts";
import type { Limits } from "./limits.ts";
import type { Value } from "./values.ts";

/** Steps that several evaluations share, such as those of one request, and the run that they reuse. */
export interface Budget {
  steps: number;
  /** The previous evaluation's run, for reuse. */
  run?: Run | undefined;
}

export type Result = Value | Failure;

/** Pays for work. Every method returns a final failure when a bound is reached, and then the work must not be done. */
export class Meter {
  /** Remaining steps. */
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
   * Charges for reading or creating this many UTF-16 code units or bytes. Work slower than half a microsecond per 64 of
   * them passes a multiple of the length.
   */
  spendText(length: number): Failure | undefined {
    return this.spend((length + 63) >> 6);
  }

  /** Charges for a text search, whose worst case grows with both lengths. */
  spendSearch(length: number, wanted: number): Failure | undefined {
    return this.spend(((length + 63) >> 6) * ((wanted + 63) >> 6));
  }

  /** Charges for reading this many list items or map keys. */
  spendItems(count: number): Failure | undefined {
    return this.spend((count + 15) >> 4);
  }

  /** Charges for creating a text. */
  makeText(length: number): Failure | undefined {
    return length > this.limits.textLength ? tooLong(this.limits) : this.spendText(length);
  }

  /** Charges for creating a list or map with this many items. */
  makeItems(count: number): Failure | undefined {
    if (count > this.limits.items) return new Failure(`a list or map has more than ${this.limits.items} items`, true);
    return this.spendItems(count);
  }
}

/** One evaluation in progress. */
export class Run extends Meter {
  activation: unknown;
  /** Values of loop variables by index; undefined without any. */
  locals: Value[] | undefined = undefined;
}

export function outOfSteps(): Failure {
  return new Failure("the evaluation takes more steps than it may", true);
}

export function tooLong({ textLength }: Limits): Failure {
  return new Failure(`a text is longer than ${textLength} characters`, true);
}
