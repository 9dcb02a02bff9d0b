/** A policy as it runs: the same for every route that has its text. */
import type { Program } from "../cel/program.ts";
import type { Step } from "../traffic/step.ts";
import type { Taint } from "./lint/taint.ts";
import type { ActionDeclaration, CompiledAction, Phase } from "./language/action.ts";

export interface CompiledPolicy {
  /** `enabled: false`: nothing of it runs. */
  readonly enabled: boolean;
  /** An expression or action reads the path of the URL. */
  readonly readsPath?: boolean;
  readonly phases: Readonly<Partial<Record<Phase, readonly CompiledRule[]>>>;
}

export interface CompiledRule {
  readonly phase: Phase;
  readonly index: number;
  /** `on_http_request[0] "only staff"`. */
  readonly label: string;
  readonly expressions: readonly CompiledExpression[];
  readonly actions: readonly CompiledActionOf[];
}

export interface CompiledExpression {
  readonly program: Program;
  /** What tells of secrets where it stands: an explanation masks it. */
  readonly taint: Taint;
  /** What the trace says when it does not hold, made once. */
  readonly unmatched: Step;
  /**
   * And when it has no value: where the rule then does not match, and where the request is refused. When it reaches a
   * bound, the request is always refused.
   */
  readonly undecided: { readonly skips: Step; readonly refuses: Step; readonly exceeds: Step };
}

export interface CompiledActionOf {
  readonly declaration: ActionDeclaration;
  readonly compiled: CompiledAction;
}
