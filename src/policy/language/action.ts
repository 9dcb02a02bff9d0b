/**
 * The contract of a policy's actions. An action goes through four stages:
 *
 * 1. declare  `defineAction({ type, phases, doc, config })`: data; validation, concealment and docs are read from it.
 * 2. compile  `compile(config, scope)`, once for each policy text, when it is written (to find what is wrong with it)
 *             and when an edge puts it into effect. It knows of no route, and looks at nothing but its configuration.
 * 3. attach   `attach(place)`, once for each route or edge: state that survives recompiling, IP policies of the account.
 * 4. run      `run(context, state)` on traffic. It throws nothing: what fails is an outcome that says so.
 */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import type { Program } from "../../cel/program.ts";
import type { Type } from "../../cel/checking/types.ts";
import type { CompileBudget } from "../../cel/syntax/compile-budget.ts";
import type { Failure } from "../../cel/values/failure.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import type { Value } from "../../cel/values/values.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import { catalogue } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Fields, Issue, StoredOf } from "../../schema/fields.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { PolicyContext, PolicyPlace } from "./context.ts";
import type { Template } from "./template.ts";

/** When rules act, as the policy names it. */
export const phases = ["on_tcp_connect", "on_http_request", "on_http_response", "on_event_stream_message"] as const;
export type Phase = (typeof phases)[number];

/** What a policy stands on: an HTTPS edge's route, or something that passes connections on whole. */
export type Layer = "http" | "tls" | "tcp";

export interface ActionDeclaration<F extends Fields = Fields> {
  /** As the policy names it, e.g. `add-headers`. */
  readonly type: string;
  /** An older name. */
  readonly alias?: string;
  readonly phases: readonly Phase[];
  /** Layers that have it, where not all that have its phases. */
  readonly layers?: readonly Layer[];
  readonly doc: string;
  readonly config: F;
  /** Fields of `config` whose values may be of any form: `compile` gets them as they were given, and checks them. */
  readonly raw?: readonly (keyof F & string)[];
  /** Brings other forms that are accepted into the one that `config` declares. */
  widen?(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** The forms that `widen` takes, as JSON Schema, by field. */
  readonly alsoTakes?: Readonly<Record<string, JsonSchema>>;
  /** What must hold between fields: pure; what is wrong with a config that its fields allow. */
  readonly rules?: readonly ((config: StoredOf<F>, phase: Phase) => Issue | undefined)[];
  /** `always`: nothing of its rule comes after it. `may`: it ends the phase on some requests. */
  readonly terminating?: "always" | "may";
  /** It reads the path of the URL, whatever its configuration. */
  readonly readsPath?: boolean;
  /** It ends TLS, which is left to it where a policy has it. */
  readonly endsTls?: boolean;
  /** Whom the values of its configuration are told: "the client", "events"; undefined or absent: nobody. */
  tells?(phase: Phase): string | undefined;
  /** What later expressions read of it. */
  readonly results?: ActionResults;
  /**
   * Says through `scope.wrong` what is wrong with texts that are compiled; what it returns then is not run.
   * Throws nothing.
   */
  compile(config: StoredOf<F>, scope: ActionScope): CompiledAction;
}

/** `actions.ngrok.<name>`: before the action ran, every field is the zero of its type. */
export interface ActionResults {
  readonly name: string;
  readonly fields: Readonly<Record<string, Type>>;
  /** Names below it that are read of something else, once the action ran. */
  readonly mirrors?: Readonly<Record<string, VariableDeclaration>>;
}

export interface ActionScope {
  readonly phase: Phase;
  readonly layer: Layer;
  /** Names the action among all of its policy, and stays while the policy does: `on_http_request[0].actions[1]`. */
  readonly path: string;
  /** A text with `${…}` in it. @param at path of the field below `config`, for what is wrong with it */
  template(text: string, at: string): Template;
  /** An expression without `${…}`, e.g. of a bucket's key. */
  expression(source: string, at: string, result?: Type): Program | undefined;
  /** A regular expression that is known beforehand; undefined, and noted, when it is wrong. */
  pattern(source: string, at: string): Pattern | undefined;
  /** Pays for everything that is compiled of the policy. */
  readonly budget: CompileBudget;
  /** Notes what is wrong with the configuration. */
  wrong(at: string, message: string, reason?: RefusalName): void;
  /** Notes what is allowed, and probably not meant. */
  doubtful(at: string, message: string): void;
}

export interface CompiledAction<S = unknown> {
  /** With this configuration it ends the phase whatever comes, also where its type need not. */
  readonly isFinal?: boolean;
  /** It reads the response's body: the upstream is asked for a whole one that is not compressed. */
  readonly readsResponseBody?: boolean;
  /** Of an event stream: a message that the rules cannot read must not pass. */
  readonly haltsUnread?: boolean;
  /**
   * It asks visitors to log in: what tells this login from others of the policy, and where its provider is, "" where that
   * is not an address that the policy names.
   */
  readonly login?: { readonly authId: string; readonly address: string };
  /** Asked once for each route or edge that has the policy; may throw: the route then fails closed. */
  attach?(place: PolicyPlace): S;
  run(context: PolicyContext, state: S): ActionOutcome | Promise<ActionOutcome>;
  /** What `run` would do now, without its side effects; absent when it has none beyond the exchange itself. */
  rehearse?(context: PolicyContext, state: S): ActionOutcome | Promise<ActionOutcome>;
  /** Told once of each request that went upstream how that did, as modules are; also of those that it did not act on. */
  settled?(exchange: Exchange, upstreamStatus: number | undefined, state: S): void;
}

export interface ActionOutcome {
  /** `failed`: it could not do what it is for; whether traffic goes on is said by `end` and `error`. */
  readonly outcome: "done" | "skipped" | "ended" | "failed";
  /** One clause without full stop, for operators: "added x-tier". Secrets never. */
  readonly reason: string;
  /** Becomes `actions.ngrok.<name>`, in place of what an earlier run left there. */
  readonly result?: Readonly<Record<string, Value | undefined>>;
  /** The phase ends with this. */
  readonly end?: PhaseEnd;
}

export type PhaseEnd =
  /** An answer of the policy's own: response rules still act on it. */
  | { readonly by: "answer"; readonly answer: Answer }
  /** Refused: nothing of the policy acts any more. */
  | { readonly by: "refusal"; readonly answer: Answer }
  /** Whoever has to log in first is sent there or told so: nothing of the policy acts any more. */
  | { readonly by: "login"; readonly step: Step }
  /** A rehearsal has come to the login that it was to come to. */
  | { readonly by: "reached" }
  /** The connection is dropped without a byte. */
  | { readonly by: "close" }
  /** It goes to an internal endpoint of the account instead of upstream: of HTTP, or of whole connections. */
  | { readonly by: "forward"; readonly url: string; readonly address?: InternalAddress };

/** Declares an action; the type parameter ties `compile` to `config`. */
export function defineAction<const F extends Fields>(declaration: ActionDeclaration<F>): ActionDeclaration {
  return declaration as unknown as ActionDeclaration;
}

export function done(reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "done", reason, ...(result && { result }) };
}

export function skippedAction(reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "skipped", reason, ...(result && { result }) };
}

export function endedBy(reason: string, end: PhaseEnd, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "ended", reason, end, ...(result && { result }) };
}

/** Traffic goes on; rules read why not as `actions.ngrok.<name>.error.code` and `.message`. */
export function failedAction(error: RefusalName, reason: string, result?: ActionOutcome["result"]): ActionOutcome {
  return { outcome: "failed", reason, result: { ...result, error: { code: policyErrorCode(error), message: reason } } };
}

/** As policies compare it: `ERR_NGROK_3200`, whatever server they run on. */
export function policyErrorCode(error: RefusalName): string {
  return `ERR_NGROK_${catalogue[error].number}`;
}

/** The same for a value that could not be made. Where a bound was reached, the request is refused as overloaded. */
export function brokenBy(failure: Failure, error: RefusalName = "policy_interpolation_failed"): ActionOutcome {
  return failure.isFinal ? brokenAction("policy_limit_reached", failure.message) : brokenAction(error, failure.message);
}

/**
 * The action cannot be carried out, and the request ends there. Why a value could not be made
 * is not told: it may repeat what is configured, and not everybody who reads traces may read that (control K4).
 */
export function brokenAction(error: RefusalName, why: string): ActionOutcome {
  const reason = error === "policy_interpolation_failed" ? "a value of its configuration could not be computed" : why;
  return { outcome: "failed", reason, end: { by: "refusal", answer: { error } } };
}
