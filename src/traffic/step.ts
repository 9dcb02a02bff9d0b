import type { RefusalName } from "../lib/errors.ts";

/**
 * A decision of the router or a module, with its reason. The error page, the log, the request trace and `explain` show
 * the same steps. Steps that do not depend on the request are created when the module is compiled.
 */
export interface Step {
  /** Name of the module, or `router`. */
  readonly by: string;
  readonly outcome: "passed" | "changed" | "denied" | "answered" | "skipped";
  /** One clause without full stop, for operators: "allowed by rule ipr_…, 192.0.2.0/24". Visitors never see it. */
  readonly reason: string;
  /** The object that decided, and its revision. */
  readonly decidedBy?: { readonly kind: string; readonly id: string; readonly revision: number };
  /** The selected tunnel. */
  readonly tunnelId?: string;
  /** For a policy rule in a dry run: the values of its expressions, and the effects of its actions. */
  readonly rule?: StepRule;
  /** An expression or action failed, so nothing could be decided. */
  readonly failed?: boolean;
  /** Set if the exchange ends here. */
  readonly answer?: Answer;
  /** Forwards the request to this internal endpoint of the account, instead of the route's own upstream. */
  readonly forwardTo?: string;
  /** Drops the client's connection without a response, whatever `answer` contains. */
  readonly drops?: boolean;
}

export interface StepRule {
  readonly phase: string;
  /** Position in its phase, starting at 0. */
  readonly index: number;
  /** How often its conditions matched real traffic since they last changed. */
  readonly matched: number;
  /** How often a condition could not be evaluated, or an action failed. */
  readonly failed: number;
  readonly values: readonly ExplainedValue[];
  readonly actions: readonly { readonly type: string; readonly outcome: string; readonly reason: string }[];
}

/** An expression with the parts that decided its value. */
export interface ExplainedValue {
  readonly expression: string;
  readonly outcome: "true" | "false" | "error";
  readonly parts: readonly { readonly text: string; readonly value: string }[];
}

/** A response made at the edge. */
export type Answer = ErrorAnswer | FixedAnswer;

/** Rendered as a page or as JSON, according to `Accept`, with code and request id. */
export interface ErrorAnswer {
  readonly error: RefusalName;
  /** For the client: the exceeded limit, or the fault. One clause without full stop. */
  readonly detail?: string;
  readonly headers?: AnswerHeaders;
}

/** Field lines of an answer by name. Several values become several lines, as `Set-Cookie` requires (RFC 6265 §3). */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface FixedAnswer {
  /** The refusal, if this answer is one with its own page or text. */
  readonly refused?: RefusalName;
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string | Uint8Array;
}

export function passStep(by: string, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "passed" as const, reason, ...(decidedBy && { decidedBy }) });
}

export function changeStep(by: string, reason: string): Step {
  return Object.freeze({ by, outcome: "changed" as const, reason });
}

export function skipStep(by: string, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "skipped" as const, reason, ...(decidedBy && { decidedBy }) });
}

export function denyStep(by: string, error: RefusalName, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "denied" as const, reason, answer: { error }, ...(decidedBy && { decidedBy }) });
}

export function answerStep(by: string, reason: string, answer: Answer, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "answered" as const, reason, answer, ...(decidedBy && { decidedBy }) });
}
