/** Counts what a visitor saw. */

/** Maximum number of failures that the report describes. The rest is only counted. */
const maxDescribed = 50;

export interface KindReport {
  readonly kind: string;
  readonly requests: number;
  readonly failures: number;
  /** Number of failures for each cause. */
  readonly causes: Readonly<Record<string, number>>;
  readonly connections: number;
  /** Longest time without a success of one visitor of this kind, milliseconds. */
  readonly longest_gap_ms: number;
}

export interface DescribedFailure {
  readonly at: string;
  readonly kind: string;
  readonly cause: string;
}

export class VisitTally {
  readonly kind: string;
  connections = 0;
  readonly #failures: DescribedFailure[];
  readonly #causes = new Map<string, number>();
  readonly #hasGaps: boolean;
  #requests = 0;
  #lastSuccess = performance.now();
  #longestGap = 0;

  /**
   * @param failures shared by all visitors
   * @param hasGaps whether the time between two successes counts: not for exchanges that take long by intention
   */
  constructor(kind: string, failures: DescribedFailure[], hasGaps = true) {
    this.kind = kind;
    this.#failures = failures;
    this.#hasGaps = hasGaps;
  }

  succeeded(): void {
    this.#requests += 1;
    this.#endGap();
  }

  failed(cause: string): void {
    this.#requests += 1;
    this.#causes.set(cause, (this.#causes.get(cause) ?? 0) + 1);
    if (this.#failures.length < maxDescribed)
      this.#failures.push({ at: new Date().toISOString(), kind: this.kind, cause });
  }

  /** Called once, after the last request. */
  report(): KindReport {
    this.#endGap();
    return {
      kind: this.kind,
      requests: this.#requests,
      failures: sumNumbers([...this.#causes.values()]),
      causes: Object.fromEntries(this.#causes),
      connections: this.connections,
      longest_gap_ms: Math.round(this.#longestGap),
    };
  }

  #endGap(): void {
    const now = performance.now();
    if (this.#hasGaps) this.#longestGap = Math.max(this.#longestGap, now - this.#lastSuccess);
    this.#lastSuccess = now;
  }
}

/** Combines the reports of visitors of the same kind. */
export function reportOf(tallies: readonly VisitTally[]): readonly KindReport[] {
  const reports = tallies.map((tally) => tally.report());
  return Array.from(
    Map.groupBy(reports, ({ kind }) => kind),
    ([kind, all]) => {
      const causes: Record<string, number> = {};
      for (const one of all) {
        for (const [cause, times] of Object.entries(one.causes)) causes[cause] = (causes[cause] ?? 0) + times;
      }
      return {
        kind,
        requests: sumNumbers(all.map(({ requests }) => requests)),
        failures: sumNumbers(all.map(({ failures }) => failures)),
        causes,
        connections: sumNumbers(all.map(({ connections }) => connections)),
        longest_gap_ms: Math.max(...all.map(({ longest_gap_ms }) => longest_gap_ms)),
      };
    },
  );
}

export function sumNumbers(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Returns the cause of a failure: the error's code if it has one. */
export function causeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
