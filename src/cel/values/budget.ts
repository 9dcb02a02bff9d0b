/** Charges work before it is done, and holds the state of one evaluation: its activation and loop variables. */
import { CelFailure } from "./cel-failure.ts";
import { defaultLimits } from "./cel-limits.ts";
import type { Limits } from "./cel-limits.ts";
import type { Value } from "./cel-values.ts";

/** Steps that several evaluations share, such as those of one request, and the run that they reuse. */
export interface Budget {
  steps: number;
  /** The previous evaluation's run, for reuse. */
  run?: Run | undefined;
}

export type Result = Value | CelFailure;

/** Pays for work. Every method returns a final failure when a bound is reached, and then the work must not be done. */
export class Meter {
  /** Remaining steps. */
  steps = 0;
  limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.limits = limits;
  }

  spend(steps: number): CelFailure | undefined {
    this.steps -= steps;
    return this.steps < 0 ? failOutOfSteps() : undefined;
  }

  /**
   * Charges for reading or creating this many UTF-16 code units or bytes. Work slower than half a microsecond per 64 of
   * them passes a multiple of the length.
   */
  spendText(length: number): CelFailure | undefined {
    return this.spend((length + 63) >> 6);
  }

  /** Charges for a text search, whose worst case grows with both lengths. */
  spendSearch(length: number, wanted: number): CelFailure | undefined {
    return this.spend(((length + 63) >> 6) * ((wanted + 63) >> 6));
  }

  /** Charges for reading this many list items or map keys. */
  spendItems(count: number): CelFailure | undefined {
    return this.spend((count + 15) >> 4);
  }

  /** Charges for creating a text. */
  makeText(length: number): CelFailure | undefined {
    return length > this.limits.textLength ? failTooLong(this.limits) : this.spendText(length);
  }

  /** Charges for creating a list or map with this many items. */
  makeItems(count: number): CelFailure | undefined {
    if (count > this.limits.items)
      return new CelFailure(`a list or map has more than ${this.limits.items} items`, true);
    return this.spendItems(count);
  }
}

/** One evaluation in progress. */
export class Run extends Meter {
  activation: unknown;
  /** Values of loop variables by index; undefined without any. */
  locals: Value[] | undefined = undefined;
}

export function failOutOfSteps(): CelFailure {
  return new CelFailure("the evaluation takes more steps than it may", true);
}

export function failTooLong({ textLength }: Limits): CelFailure {
  return new CelFailure(`a text is longer than ${textLength} characters`, true);
}
