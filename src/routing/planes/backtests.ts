/** Backtests, as the control plane orders them from the thread that runs them: plain data. */
import type { ResourceObject } from "../../schema/object.ts";
import type { RecordingNode } from "./captured-blocks.ts";
import type { RoutingChange } from "./messages.ts";
import type { AgentEndpoint, ExchangeOutcome, StepReport } from "./edge-questions.ts";

/** A backtest to run on the captured requests of an account. */
export interface BacktestJob {
  readonly accountId: string;
  /** The configuration in effect, at this revision. */
  readonly revision: number;
  readonly objects: readonly ResourceObject[];
  /** Changes of the candidate. */
  readonly changes: readonly RoutingChange[];
  /** Arrived at or after `since` and before `until`, milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly filter: BacktestFilter;
  /** Endpoints that agents publish at the moment. Their rules are part of both configurations. */
  readonly endpoints: readonly AgentEndpoint[];
}

/** Every given condition must hold. */
export interface BacktestFilter {
  readonly outcome?: ExchangeOutcome | undefined;
  readonly status?: number | undefined;
  readonly module?: string | undefined;
  readonly rule?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** A canonical path, or the start of one with `*` at its end. */
  readonly path?: string | undefined;
  /** E-mail address or id of the visitor. */
  readonly user?: string | undefined;
  readonly text?: string | undefined;
}

/** Runs backtests. */
export interface BacktestRunner {
  /**
   * Starts a backtest in its own thread, on the captured requests of this node and of the others. `onNews` is called with
   * the results so far, and at the end.
   */
  start(job: BacktestJob, otherNodes: readonly RecordingNode[], onNews: (news: BacktestNews) => void): { stop(): void };
}

export type BacktestNews =
  | { readonly type: "progress" | "done"; readonly report: BacktestReport }
  | { readonly type: "failed"; readonly message: string };

export type DifferenceKind =
  | "allowed_to_denied"
  | "denied_to_allowed"
  | "other_route"
  | "other_backend"
  | "other_status"
  | "other_headers";

export interface Cause {
  /** Module of the first step that differs, `router` for another route. */
  readonly module: string;
  /** The policy rule, such as `on_http_request[0] "only staff"`. "" for other modules. */
  readonly rule: string;
  /** The changed object. Undefined if it could not be determined. */
  readonly object: { readonly kind: string; readonly id: string } | undefined;
}

/** A decision in the form of a report. */
export interface ReplayedDecision {
  readonly outcome: ExchangeOutcome;
  /** 0 if it is not known, because only the record knows how an upstream answers. */
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly routeId: string | undefined;
  readonly backendId: string | undefined;
  readonly steps: readonly StepReport[];
}

/** Number of different values, up to a bound. */
export interface DistinctCount {
  readonly count: number;
  /** Whether there are more. */
  readonly more: boolean;
}

export interface BacktestExample {
  readonly requestId: string;
  /** When it was received, milliseconds since 1970. */
  readonly receivedAt: number;
  readonly method: string;
  readonly host: string;
  /** Path as routes and modules judge it. */
  readonly path: string;
  readonly source: string;
  /** E-mail address of the visitor. "" without one. */
  readonly user: string;
  readonly difference: DifferenceKind;
  readonly before: ReplayedDecision;
  readonly after: ReplayedDecision;
}

export interface BacktestCause extends Cause {
  readonly difference: DifferenceKind;
  readonly requests: number;
  readonly sources: DistinctCount;
  readonly users: DistinctCount;
  readonly paths: DistinctCount;
}

/** Results so far. Plain data. */
export interface BacktestReport {
  readonly tried: number;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** Places in the captured data whose requests are missing. */
  readonly gaps: number;
  /** Nodes that stopped answering, with the number of their captured requests that are missing at least. */
  readonly lostNodes: readonly { readonly id: string; readonly requests: number }[];
  /** Requests to hosts that the configuration does not serve. */
  readonly skipped: number;
  /** Requests that the present configuration decides in another way than the one in effect at their time. */
  readonly differentlyRecorded: number;
  readonly differences: Readonly<Record<DifferenceKind, number>>;
  readonly unknownReasons: readonly { readonly reason: string; readonly requests: number }[];
  /** Those with the most requests first. */
  readonly causes: readonly BacktestCause[];
  /** The first, the last, and up to twenty between them. */
  readonly examples: readonly BacktestExample[];
  /** Time of the earliest and the latest request that was tried, milliseconds since 1970. 0 without requests. */
  readonly firstAt: number;
  readonly lastAt: number;
}
