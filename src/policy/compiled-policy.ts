/** A policy ready to run, shared by every route with the same text. */
import type { Program } from "../cel/program.ts";
import type { Step } from "../traffic/step.ts";
import type { Taint } from "./lint/taint.ts";
import type { ActionDeclaration, CompiledAction } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";

export interface CompiledPolicy {
  /** If false (`enabled: false`), no rule of the policy runs. */
  readonly enabled: boolean;
  /** Whether an expression or action reads the path of the URL. */
  readonly readsPath?: boolean;
  /** Whether an expression reads locations or categories of addresses. */
  readonly readsAddresses?: boolean;
  readonly phases: Readonly<Partial<Record<Phase, readonly CompiledRule[]>>>;
}

export interface CompiledRule {
  readonly phase: Phase;
  readonly index: number;
  /** Such as `on_http_request[0] "only staff"`. */
  readonly label: string;
  /** Hash of the rule's content. */
  readonly key: string;
  readonly expressions: readonly CompiledExpression[];
  readonly actions: readonly CompiledActionOf[];
}

export interface CompiledExpression {
  readonly program: Program;
  /** Values that reveal secrets at this rule. Explanations mask them. */
  readonly taint: Taint;
  /** Trace step for an unmatched rule, created once. */
  readonly unmatched: Step;
  /**
   * Trace steps for a rule without a result: one where the rule then does not match, one where the request is rejected.
   * A rule that exceeds a limit always rejects the request.
   */
  readonly undecided: { readonly skips: Step; readonly refuses: Step; readonly exceeds: Step };
}

export interface CompiledActionOf {
  readonly declaration: ActionDeclaration;
  readonly compiled: CompiledAction;
}
