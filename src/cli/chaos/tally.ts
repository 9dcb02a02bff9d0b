/** Counts what the visitors of one kind saw. */

/** Maximum number of failures that the report describes. The rest is only counted. */
const maxDescribed = 50;

export interface KindReport {
  readonly kind: string;
  readonly requests: number;
  readonly failures: number;
  /** Number of failures for each cause. */
  readonly causes: Readonly<Record<string, number>>;
  readonly connections: number;
  /** Longest time between two successes of any visitor of this kind, milliseconds. */
  readonly longest_gap_ms: number;
}

export interface DescribedFailure {
  readonly at: string;
  readonly kind: string;
  readonly cause: string;
}

export class Tally {
  readonly kind: string;
  connections = 0;
  readonly #failures: DescribedFailure[];
  readonly #causes = new Map<string, number>();
  #requests = 0;
  #lastSuccess = performance.now();
  #longestGap = 0;

  /** @param failures shared by all kinds */
  constructor(kind: string, failures: DescribedFailure[]) {
    this.kind = kind;
    this.#failures = failures;
  }

  get requests(): number {
    return this.#requests;
  }

  /** @param gap whether the time since the last success counts: not for exchanges that take long by intention */
  succeeded(gap = true): void {
    this.#requests += 1;
    const now = performance.now();
    if (gap) this.#longestGap = Math.max(this.#longestGap, now - this.#lastSuccess);
    this.#lastSuccess = now;
  }

  failed(cause: string): void {
    this.#requests += 1;
    this.#causes.set(cause, (this.#causes.get(cause) ?? 0) + 1);
    if (this.#failures.length < maxDescribed)
      this.#failures.push({ at: new Date().toISOString(), kind: this.kind, cause });
  }

  report(): KindReport {
    return {
      kind: this.kind,
      requests: this.#requests,
      failures: this.#causes.values().reduce((sum, count) => sum + count, 0),
      causes: Object.fromEntries(this.#causes),
      connections: this.connections,
      longest_gap_ms: Math.round(this.#longestGap),
    };
  }
}

/** Returns the cause of a failure: the error's code if it has one. */
export function causeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
