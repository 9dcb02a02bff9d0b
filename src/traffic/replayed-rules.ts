/**
 * A recorded request that is decided again. Its record does not contain everything: secret values are hashed, bodies are
 * usually absent, and nothing outside may be asked. The record then supplies the result of the decision.
 */
import type { Step } from "./step.ts";

/** A policy rule, as far as its recorded step identifies it. */
export interface ReplayedRule {
  readonly label: string;
  /** Equal for rules with the same content. */
  readonly key: string;
  readonly expressions: readonly {
    readonly unmatched: Step;
    readonly undecided: { readonly skips: Step; readonly refuses: Step; readonly exceeds: Step };
  }[];
  readonly actions: readonly { readonly declaration: { readonly type: string } }[];
}

export interface Replay {
  /** Call when a decision reads something that the record does not contain. @param what a noun phrase */
  lacks(what: string): void;
  /** Returns the step of a rule that does not match; undefined if it matches. */
  verdict(rule: ReplayedRule, evaluate: () => Step | undefined): Step | undefined;
  /** Returns the outcome of one action of a matching rule. */
  action<O extends object>(rule: ReplayedRule, at: number, run: () => O | Promise<O>): O | Promise<O>;
}
