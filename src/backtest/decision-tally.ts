/** Counts the results of a backtest, with a bounded number of examples and distinct values. */
import type { CapturedRequest } from "../capture/captured-request.ts";
import { differenceKinds } from "./decided.ts";
import type {
  BacktestExample,
  BacktestReport,
  Cause,
  DifferenceKind,
  DistinctCount,
} from "../routing/planes/backtests.ts";

/** Maximum number of values that are told apart. */
const maxDistinct = 10_000;
/** Differences beyond these causes are counted together. */
const maxCauses = 50;
const maxReasons = 20;
const maxSpread = 20;

class Distinct {
  readonly #values = new Set<string>();
  #more = false;

  add(value: string): void {
    if (this.#values.size < maxDistinct) this.#values.add(value);
    else if (!this.#values.has(value)) this.#more = true;
  }

  get counted(): DistinctCount {
    return { count: this.#values.size, more: this.#more };
  }
}

interface CountedCause {
  readonly cause: Cause;
  readonly difference: DifferenceKind;
  requests: number;
  readonly sources: Distinct;
  readonly users: Distinct;
  readonly paths: Distinct;
}

const otherCauses: Cause = { module: "others", rule: "", object: undefined };

export class DecisionTally {
  same = 0;
  different = 0;
  unknown = 0;
  skipped = 0;
  gaps = 0;
  /** Missing requests by node. */
  readonly lostNodes = new Map<string, number>();
  differentlyRecorded = 0;
  firstAt = 0;
  lastAt = 0;
  readonly #differences = Object.fromEntries(differenceKinds.map((kind) => [kind, 0])) as Record<
    DifferenceKind,
    number
  >;
  readonly #reasons = new Map<string, number>();
  readonly #causes = new Map<string, CountedCause>();
  #first: BacktestExample | undefined;
  #last: BacktestExample | undefined;
  /** Every `#stride`th difference. The stride doubles when there are too many. */
  #spread: BacktestExample[] = [];
  #stride = 1;

  reached(atMs: number): void {
    if (this.firstAt === 0) this.firstAt = atMs;
    this.lastAt = atMs;
  }

  cannotTell(reason: string): void {
    this.unknown += 1;
    const key = this.#reasons.size < maxReasons || this.#reasons.has(reason) ? reason : "other reasons";
    this.#reasons.set(key, (this.#reasons.get(key) ?? 0) + 1);
  }

  /** @param example makes the example, which is only needed for few differences */
  differs(difference: DifferenceKind, cause: Cause, record: CapturedRequest, example: () => BacktestExample): void {
    this.different += 1;
    this.#differences[difference] += 1;
    this.#count(difference, cause, record);
    this.#first ??= example();
    if (this.different % this.#stride === 0) {
      this.#spread.push(example());
      if (this.#spread.length > 2 * maxSpread) {
        this.#spread = this.#spread.filter((_one, at) => at % 2 === 1);
        this.#stride *= 2;
      }
    }
    this.#last = example();
  }

  #count(difference: DifferenceKind, cause: Cause, { connection, visitor, request }: CapturedRequest): void {
    const keyOf = ({ module, rule, object }: Cause): string => `${difference} ${module} ${rule} ${object?.id ?? ""}`;
    const isKnown = this.#causes.has(keyOf(cause)) || this.#causes.size < maxCauses;
    const meant = isKnown ? cause : otherCauses;
    let counted = this.#causes.get(keyOf(meant));
    if (counted === undefined) {
      const distinct = { sources: new Distinct(), users: new Distinct(), paths: new Distinct() };
      this.#causes.set(keyOf(meant), (counted = { cause: meant, difference, requests: 0, ...distinct }));
    }
    counted.requests += 1;
    counted.sources.add(connection.source);
    if (visitor !== undefined) counted.users.add(visitor.email || visitor.userId);
    counted.paths.add(request.path);
  }

  get report(): BacktestReport {
    const { same, different, unknown, skipped, differentlyRecorded, firstAt, lastAt } = this;
    const causes = [...this.#causes.values()].sort((one, other) => other.requests - one.requests);
    const reasons = [...this.#reasons].sort(([, one], [, other]) => other - one);
    return {
      tried: same + different + unknown,
      same,
      different,
      unknown,
      gaps: this.gaps,
      lostNodes: Array.from(this.lostNodes, ([id, requests]) => ({ id, requests })),
      skipped,
      differentlyRecorded,
      differences: { ...this.#differences },
      unknownReasons: reasons.map(([reason, requests]) => ({ reason, requests })),
      causes: causes.map(({ cause, difference, requests, sources, users, paths }) => ({
        ...cause,
        difference,
        requests,
        sources: sources.counted,
        users: users.counted,
        paths: paths.counted,
      })),
      examples: this.#examples,
      firstAt,
      lastAt,
    };
  }

  get #examples(): readonly BacktestExample[] {
    const { length } = this.#spread;
    const step = Math.max(1, length / maxSpread);
    const spread = Array.from(
      { length: Math.min(length, maxSpread) },
      (_one, at) => this.#spread[Math.floor(at * step)],
    );
    const all = [this.#first, ...spread, this.#last].filter((one) => one !== undefined);
    return [...new Map(all.map((one) => [one.requestId, one])).values()];
  }
}
