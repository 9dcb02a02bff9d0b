/**
 * The contract of a policy's actions. An action goes through four stages:
 *
 * 1. declare  `defineAction({ type, phases, doc, config })`: data for validation, concealment and docs.
 * 2. compile  `compile(config, scope)`, once for each policy text: when it is stored (to find errors), and when an
 *             edge applies it. It knows no route, and reads only its configuration.
 * 3. attach   `attach(place)`, once for each route or edge: state that survives recompiling, IP policies.
 * 4. run      `run(context, state)` on traffic. It never throws: a failure is an outcome with its reason.
 */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import type { Program } from "../../cel/program.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import type { CompileBudget } from "../../cel/syntax/compile-budget.ts";
import type { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import { catalogue } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Fields, Issue, StoredOf } from "../../schema/fields.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { PolicyContext, PolicyPlace } from "./policy-context.ts";
import type { Template } from "./template.ts";
import type { Phase } from "./phase.ts";

/** Layer of a policy: an HTTPS edge's route, or an object that passes on whole connections. */
export type Layer = "http" | "tls" | "tcp";

export interface ActionDeclaration<F extends Fields = Fields> {
  /** Name in policies, for example `add-headers`. */
  readonly type: string;
  /** An older name. */
  readonly alias?: string;
  readonly phases: readonly Phase[];
  /** Layers with the action. Default: all layers with its phases. */
  readonly layers?: readonly Layer[];
  readonly doc: string;
  readonly config: F;
  /** Fields of `config` whose values may have any form: `compile` gets and checks the original values. */
  readonly raw?: readonly (keyof F & string)[];
  /** Converts other accepted forms to the declared form of `config`. */
  widen?(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Forms that `widen` accepts, as JSON Schema, by field. */
  readonly alsoTakes?: Readonly<Record<string, JsonSchema>>;
  /** Rules between fields, pure functions: each returns the issue of a config whose fields are valid. */
  readonly rules?: readonly ((config: StoredOf<F>, phase: Phase) => Issue | undefined)[];
  /** `always`: the action always ends its phase. `may`: it ends the phase on some requests. */
  readonly terminating?: "always" | "may";
  /** Whether it reads the path of the URL with any configuration. */
  readonly readsPath?: boolean;
  /** Whether it terminates TLS. A policy with such an action leaves TLS to it. */
  readonly endsTls?: boolean;
  /** Receiver of the values in its configuration: "the client", "events"; undefined or absent: no receiver. */
  tells?(phase: Phase): string | undefined;
  /** Results that later expressions can read. */
  readonly results?: ActionResults;
  /**
   * Compiles the texts, and reports errors through `scope.wrong`. After an error, its result never runs. Never throws.
   */
  compile(config: StoredOf<F>, scope: ActionScope): CompiledAction;
}

/** `actions.ngrok.<name>`: before the action runs, every field is the zero of its type. */
export interface ActionResults {
  readonly name: string;
  readonly fields: Readonly<Record<string, Type>>;
  /** Names below it that are read from other variables after the action ran. */
  readonly mirrors?: Readonly<Record<string, VariableDeclaration>>;
}

export interface ActionScope {
  readonly phase: Phase;
  readonly layer: Layer;
  /**
   * Identifies the action in its policy, and does not change while the policy does not:
   * `on_http_request[0].actions[1]`.
   */
  readonly path: string;
  /** Compiles a text with `${…}` in it. @param at path of the field below `config`, for errors */
  template(text: string, at: string): Template;
  /** Compiles an expression without `${…}`, for example a bucket's key. */
  expression(source: string, at: string, result?: Type): Program | undefined;
  /** Compiles a constant regular expression. Returns undefined and reports an issue if it is invalid. */
  pattern(source: string, at: string): Pattern | undefined;
  /** Pays for all compilation of the policy. */
  readonly budget: CompileBudget;
  /** Reports an error in the configuration. */
  wrong(at: string, message: string, reason?: RefusalName): void;
  /** Reports a valid configuration that is probably not intended. */
  doubtful(at: string, message: string): void;
}

export interface CompiledAction<S = unknown> {
  /** Whether it always ends the phase with this configuration. Actions of types that may pass traffic can set it. */
  readonly isFinal?: boolean;
  /** Whether it reads the response's body. Then the upstream gets a request for a complete body without compression. */
  readonly readsResponseBody?: boolean;
  /** Whether a message of an event stream that the rules cannot read must not pass. */
  readonly haltsUnread?: boolean;
  /**
   * Set if it requires visitors to log in: the key that distinguishes this login from others of the policy, and the
   * provider's address. The address is "" if the policy does not name one.
   */
  readonly login?: { readonly authId: string; readonly address: string };
  /** Called once for each route or edge with the policy. If it throws, the route fails closed. */
  attach?(place: PolicyPlace): S;
  run(context: PolicyContext, state: S): ActionOutcome | Promise<ActionOutcome>;
  /** Returns the result of `run` without its side effects. Absent if it changes only the exchange. */
  rehearse?(context: PolicyContext, state: S): ActionOutcome | Promise<ActionOutcome>;
  /**
   * Called once for each request that went upstream, with the upstream's outcome, as for modules. Includes requests
   * that the action did not act on.
   */
  settled?(exchange: Exchange, upstreamStatus: number | undefined, state: S): void;
}

export interface ActionOutcome {
  /** `failed`: it could not do its work. `end` and `error` decide whether traffic continues. */
  readonly outcome: "done" | "skipped" | "ended" | "failed";
  /** One clause without full stop, for operators: "added x-tier". Never contains secrets. */
  readonly reason: string;
  /** Becomes `actions.ngrok.<name>`, and replaces the result of an earlier run. */
  readonly result?: Readonly<Record<string, Value | undefined>>;
  /** If set, the phase ends. */
  readonly end?: PhaseEnd;
}

export type PhaseEnd =
  /** The policy sends its own response. Response rules still act on it. */
  | { readonly by: "answer"; readonly answer: Answer }
  /** The request is rejected. No other rule of the policy acts. */
  | { readonly by: "refusal"; readonly answer: Answer }
  /** The visitor must log in first, and is redirected or informed. No other rule of the policy acts. */
  | { readonly by: "login"; readonly step: Step }
  /** A rehearsal has reached its target login. */
  | { readonly by: "reached" }
  /** The connection is dropped without a byte. */
  | { readonly by: "close" }
  /** Traffic goes to an internal endpoint of the account instead of the upstream, for HTTP or for whole connections. */
  | { readonly by: "forward"; readonly url: string; readonly address?: InternalAddress };

/** Declares an action; the type parameter ties `compile` to `config`. */
export function defineAction<const F extends Fields>(declaration: ActionDeclaration<F>): ActionDeclaration {
  return declaration as unknown as ActionDeclaration;
}

export function makeDone(reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "done", reason, ...(result && { result }) };
}

export function skipAction(reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "skipped", reason, ...(result && { result }) };
}

export function endWith(reason: string, end: PhaseEnd, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "ended", reason, end, ...(result && { result }) };
}

/** Traffic continues. Rules can read the reason in `actions.ngrok.<name>.error.code` and `.message`. */
export function failAction(error: RefusalName, reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "failed", reason, result: { ...result, error: { code: policyErrorCode(error), message: reason } } };
}

/** Returns the code that policies compare: `ERR_NGROK_3200`, on any server. */
export function policyErrorCode(error: RefusalName): string {
  return `ERR_NGROK_${catalogue[error].number}`;
}

/** Same as `breakAction`, for a value that failed. If a limit was exceeded, the request is rejected as overloaded. */
export function breakWith(failure: CelFailure, error: RefusalName = "policy_interpolation_failed"): ActionOutcome {
  return failure.isFinal ? breakAction("policy_limit_reached", failure.message) : breakAction(error, failure.message);
}

/**
 * The action failed, and the request ends. The trace omits why a value failed: the reason may contain configuration,
 * and not every reader of traces may read it (control K4).
 */
export function breakAction(error: RefusalName, why: string): ActionOutcome {
  const reason = error === "policy_interpolation_failed" ? "a value of its configuration could not be computed" : why;
  return { outcome: "failed", reason, end: { by: "refusal", answer: { error } } };
}
