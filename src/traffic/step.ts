import type { RefusalName } from "../lib/errors.ts";

/**
 * What the router or a module decided, and why. The error page, the log, the request trace and `explain`
 * all show the same steps. Steps that do not depend on the request are made when the module is compiled.
 */
export interface Step {
  /** Name of the module, or `router`. */
  readonly by: string;
  readonly outcome: "passed" | "changed" | "denied" | "answered" | "skipped";
  /** One clause without full stop: "allowed by rule ipr_…, 192.0.2.0/24". For operators; visitors never see it. */
  readonly reason: string;
  /** The object that decided, and the revision that it has. */
  readonly decidedBy?: { readonly kind: string; readonly id: string; readonly revision: number };
  /** The tunnel that was chosen. */
  readonly tunnelId?: string;
  /** Of a policy's rule in a dry run: what its expressions were, and what its actions did. */
  readonly rule?: StepRule;
  /** Nothing could be decided, because an expression or action failed. */
  readonly failed?: boolean;
  /** Present when the exchange ends here. */
  readonly answer?: Answer;
  /** The request goes to this internal endpoint of the account, instead of to the route's own upstream. */
  readonly forwardTo?: string;
  /** The client is sent nothing: its connection is dropped, whatever `answer` says. */
  readonly drops?: boolean;
}

export interface StepRule {
  readonly phase: string;
  /** In its phase, from 0. */
  readonly index: number;
  /** How often its conditions have held on real traffic since they are what they are. */
  readonly matched: number;
  /** How often one of them could not be decided, or an action could not do what it is for. */
  readonly failed: number;
  readonly values: readonly ExplainedValue[];
  readonly actions: readonly { readonly type: string; readonly outcome: string; readonly reason: string }[];
}

/** An expression and the parts that decided it. */
export interface ExplainedValue {
  readonly expression: string;
  readonly outcome: "true" | "false" | "error";
  readonly parts: readonly { readonly text: string; readonly value: string }[];
}

/** A response made at the edge. */
export type Answer = ErrorAnswer | FixedAnswer;

/** Shown as a page or as JSON, by `Accept`, with code and request id. */
export interface ErrorAnswer {
  readonly error: RefusalName;
  /** For the client: which limit was exceeded, or what was wrong. One clause without full stop. */
  readonly detail?: string;
  readonly headers?: AnswerHeaders;
}

/** Field lines of an answer by name; several values are as many lines, as `Set-Cookie` needs them (RFC 6265 §3). */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface FixedAnswer {
  /** What it refuses, where it is a refusal with a page or text of its own. */
  readonly refused?: RefusalName;
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string | Uint8Array;
}

export function passed(by: string, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "passed" as const, reason, ...(decidedBy && { decidedBy }) });
}

export function changed(by: string, reason: string): Step {
  return Object.freeze({ by, outcome: "changed" as const, reason });
}

export function skipped(by: string, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "skipped" as const, reason, ...(decidedBy && { decidedBy }) });
}

export function denied(by: string, error: RefusalName, reason: string, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "denied" as const, reason, answer: { error }, ...(decidedBy && { decidedBy }) });
}

export function answered(by: string, reason: string, answer: Answer, decidedBy?: Step["decidedBy"]): Step {
  return Object.freeze({ by, outcome: "answered" as const, reason, answer, ...(decidedBy && { decidedBy }) });
}
