import type { CapturedRequest } from "../capture/captured-request.ts";
import { runContained } from "../lib/boundary.ts";
import { catalogue } from "../lib/errors.ts";
import { Guard } from "../identity/guard/login-guard.ts";
import { DecidedExchange } from "../edge/http/decided-exchange.ts";
import type { ResponseHook } from "../edge/http/decided-exchange.ts";
import type { ClientConnection } from "../edge/http/visitor-connection.ts";
import type { ForwardedBefore } from "../edge/http/forwarded-fields.ts";
import { stripResponse } from "../edge/http/forwarded-fields.ts";
import type { ReceivedRequest } from "../edge/http/received-request.ts";
import { ModuleResponse } from "../edge/http/response-stages.ts";
import type { CompiledRoute } from "../routing/sites/compiled-site.ts";
import type { ResponseHead } from "../traffic/exchange.ts";
import type { DescribedVisitor } from "../traffic/visitor.ts";
import { dropLoginCookies } from "../traffic/login.ts";
import type { CompiledModule } from "../traffic/module.ts";
import type { Replay, ReplayedRule } from "../traffic/replayed-rules.ts";
import { answerStep, denyStep } from "../traffic/step.ts";
import type { Answer, Step } from "../traffic/step.ts";
import type { UpstreamPlan } from "../traffic/upstream-plan.ts";
import type { ActionOutcome } from "../policy/language/action.ts";
import { policyModuleName } from "../policy/compile-policy.ts";
import { indifferentActions, loginActions, makeRecordedOutcome, statefulActions } from "./action-results.ts";
import type { AskedPart, PartResult } from "./parts.ts";
import { chooseBackend } from "./backends.ts";
import type { Chosen } from "./backends.ts";
import { fieldsOf, textOfFields, watchValues } from "./received.ts";
import { readRecordedAction, readRecordedAnswer, RecordedSteps, readRecordedVerdict } from "./recorded-steps.ts";

/** The inputs of a replay besides the request itself. */
export interface Replaying {
  readonly record: CapturedRequest;
  /** Whether this is the present configuration, whose results come from the record. */
  readonly isPresent: boolean;
  /** The same request with the present configuration, for the candidate. */
  readonly before: ReplayedExchange | undefined;
  readonly parts: { settle<T>(part: AskedPart<T>): PartResult<T> | undefined };
  /** Returns a text that is equal for equal configurations of a module on the route. */
  readonly configurationOf: (module: string, exchange: ReplayedExchange) => string;
}

/** A recorded request, decided again. Its context must keep no trace of it. */
export class ReplayedExchange extends DecidedExchange implements Replay {
  readonly #given: Replaying;
  readonly #recorded: RecordedSteps;
  readonly rehearsedAs: DescribedVisitor | undefined;
  #lacking: string | undefined;
  /** A value that was derived from something unknown is in use. */
  #isTainted = false;
  /** Actions so far that changed what later rules read. */
  #trail = "";
  #response: ModuleResponse | undefined;
  #settle: (() => void) | undefined;
  /** Why the outcome cannot be known. */
  unknown: string | undefined;
  /** Answer with which it ended at the edge. Undefined if the upstream's response is the answer. */
  ending: Answer | undefined;
  /** The upstream that was chosen. */
  chosen: Chosen | undefined;
  /** Status at the upstream, for circuit breakers. Undefined if it was not reached or is not known. */
  upstreamStatus: number | undefined;
  /** Body for the upstream instead of the received one. */
  newBody: Buffer | undefined;
  /** The status for the client. 0 if it is not known, or if there was no response. */
  override status = 0;

  constructor(client: ClientConnection, request: ReceivedRequest, given: Replaying) {
    super(client, request);
    const { record } = given;
    this.#given = given;
    this.#recorded = new RecordedSteps(record);
    this.bodyArrival = this.arrival;
    const { visitor } = record;
    this.rehearsedAs = visitor && { ...visitor, id: visitor.userId };
    if (record.request.redacted.length > 0) watchValues(request.headers, record.request.redacted, this.#onSecret);
  }

  get replay(): Replay {
    return this;
  }

  override get id(): string {
    return this.#given.record.id;
  }

  /** Decides everything. Returns a promise if a part of it does. */
  run(): Promise<void> | undefined {
    this.decide();
    if (this.isOver) return undefined;
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  lacks(what: string): void {
    this.#lacking ??= what;
  }

  get response(): ResponseHead | undefined {
    return this.answered ?? this.#response;
  }

  body(maxBytes: number): Promise<Buffer> {
    const whole = this.newBody ?? restoreBody(this.#given.record, this.request.bodyLength);
    if (whole === undefined) this.lacks("the body of the request");
    const bytes = whole ?? this.#given.record.request.body ?? Buffer.alloc(0);
    return Promise.resolve(bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes);
  }

  replaceBody(bytes: Buffer): void {
    this.newBody = bytes;
  }

  protected ask(hook: Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">) {
    this.#lacking = undefined;
    const isOutside = hook === this.owned || hook instanceof Guard;
    const step = isOutside && hook.rehearse ? hook.rehearse(this) : hook.request(this);
    return step instanceof Promise ? step.then((one) => this.#part(one, isOutside)) : this.#part(step, isOutside);
  }

  protected askResponse(hook: ResponseHook) {
    this.#lacking = undefined;
    const step = hook.response(this);
    return step instanceof Promise ? step.then((one) => this.#part(one, false)) : this.#part(step, false);
  }

  /** Settles the step of a module as a part, unless its inputs determine it. The rules of policies are parts already. */
  #part(simulated: Step, isOutside: boolean): Step {
    const { by } = simulated;
    const lacking = this.#takeLacking();
    if (by === policyModuleName) return simulated;
    if (isOutside) this.#checkVisitor();
    if (!isOutside && lacking === undefined && by !== "circuit_breaker") return simulated;
    const recorded = this.#usesRecord ? this.#recorded.of(by) : undefined;
    const settled = this.#given.parts.settle({
      key: `${by} ${this.#given.configurationOf(by, this)}`,
      input: "",
      simulated: resultOfStep(simulated),
      lacks: lacking !== undefined,
      recorded: recorded && resultOfStep(withAnswerOf(recorded, simulated)),
    });
    return settled?.value ?? this.#giveUp(simulated, lacking);
  }

  verdict(rule: ReplayedRule, evaluate: () => Step | undefined): Step | undefined {
    this.#lacking = this.#isTainted ? "a value that depends on it" : undefined;
    const simulated = evaluate();
    const lacking = this.#takeLacking();
    if (lacking === undefined) return simulated;
    const step = this.#usesRecord ? this.#recorded.ofRule(policyModuleName, rule) : undefined;
    const said = step && readRecordedVerdict(rule, step);
    const recorded = said === "matched" ? undefined : said;
    const settled = this.#given.parts.settle({
      key: `${rule.key} ${this.owner}`,
      input: this.#trail,
      simulated: resultOfVerdict(simulated),
      lacks: true,
      recorded: said && resultOfVerdict(recorded),
    });
    if (settled !== undefined) return settled.value;
    this.#giveUp(undefined, lacking);
    return simulated;
  }

  action<O extends object>(rule: ReplayedRule, at: number, run: () => O | Promise<O>): O | Promise<O> {
    this.#lacking = undefined;
    const outcome = run() as ActionOutcome | Promise<ActionOutcome>;
    const settled =
      outcome instanceof Promise
        ? outcome.then((one) => this.#actionPart(rule, at, one))
        : this.#actionPart(rule, at, outcome);
    return settled as O | Promise<O>;
  }

  #actionPart(rule: ReplayedRule, at: number, simulated: ActionOutcome): ActionOutcome {
    const type = rule.actions[at]?.declaration.type ?? "";
    const lacking = indifferentActions.has(type) ? undefined : this.#lacking;
    this.#lacking = undefined;
    const isLogin = loginActions.has(type);
    if (isLogin) this.#checkVisitor();
    if (simulated.outcome === "done" && !indifferentActions.has(type)) this.#trail += `${rule.key}.${at} `;
    if (lacking === undefined && !isLogin && !statefulActions.has(type)) return simulated;
    const step = this.#usesRecord ? this.#recorded.ofRule(policyModuleName, rule) : undefined;
    const recorded = step && readRecordedAction(rule, step, at);
    const { record } = this.#given;
    const lacks = (what: string): void => this.lacks(what);
    const outcome =
      recorded &&
      makeRecordedOutcome(
        type,
        recorded,
        isLogin ? withoutEnd(simulated, recorded.isEnd) : simulated,
        readRecordedAnswer(record),
        lacks,
      );
    const settled = this.#given.parts.settle({
      key: `${rule.key}.${at} ${this.owner}`,
      input: this.#trail,
      simulated: resultOfAction(simulated),
      lacks: lacking !== undefined,
      recorded: outcome && resultOfAction(outcome),
    });
    if (lacking !== undefined && !resultsOfRecord.has(type)) this.#isTainted = true;
    if (settled !== undefined) return settled.value;
    this.#giveUp(undefined, lacking);
    return simulated;
  }

  protected drop(answer: Answer): void {
    this.ending = answer;
    this.#end();
  }

  protected forward(route: CompiledRoute, plan: UpstreamPlan, _before: ForwardedBefore): void {
    const { record, before, isPresent } = this.#given;
    const chosen = chooseBackend(plan, record.decision.backendId);
    this.chosen = chosen;
    this.steps.push(chosen.step);
    if (chosen.answer !== undefined) {
      this.upstreamStatus = chosen.answer.status;
      this.steps.push(answerStep("backend", `answered ${chosen.answer.status} without an upstream`, chosen.answer));
      this.answer(chosen.answer);
      return;
    }
    // Only the record knows how an upstream answers.
    const isKnown =
      isPresent || (before?.chosen?.id === chosen.id && before.request.upstreamTarget === this.request.upstreamTarget);
    if (!isKnown) return this.#end();
    const { upstream, decision } = record;
    if (upstream === undefined) {
      if (decision.outcome === "forwarded" || decision.status === 0) {
        this.status = decision.status;
        this.#end();
      } else if (before === undefined || before.chosen !== undefined) {
        const rest = decision.steps.at(-1);
        if (rest !== undefined && rest.by !== "backend") this.steps.push({ ...rest });
        this.answer(readRecordedAnswer(record));
      } else this.#end();
      return;
    }
    this.upstreamStatus = upstream.status;
    if (upstream.status === 101) {
      this.status = 101;
      return this.#end();
    }
    const fields = fieldsOf(upstream.headers);
    stripResponse(fields);
    if (this.hasLogins) dropLoginCookies(fields);
    this.waitedMs = upstream.waitedMs;
    const body = {
      body: (): Promise<Buffer> => {
        this.lacks("the body of the response");
        return Promise.resolve(Buffer.alloc(0));
      },
      replaceBody() {},
    };
    const response = new ModuleResponse(upstream.status, fields, { keptBody: undefined, keepBody: () => body });
    this.#response = response;
    const goesOn = this.respond(route, response);
    if (goesOn instanceof Promise)
      goesOn.then((on) => on && this.#responded(response)).catch((error: unknown) => this.broke(error));
    else if (goesOn) this.#responded(response);
  }

  answer(answer: Answer): void {
    const status = "error" in answer ? catalogue[answer.error].status : answer.status;
    if (this.request.websocket && this.request.httpVersion === "2" && status < 400) {
      this.refuse("not_upgraded", `the WebSocket upgrade was answered with ${status}`);
      return;
    }
    this.ending = answer;
    this.status = status;
    this.#end();
  }

  broke(error: unknown): void {
    runContained("exchange", () => this.moduleFailed(error));
  }

  /** A replay closes no route. */
  override hookFailed(): void {}

  /** Ends it as by a failed TLS handshake, before any decision about the request. */
  refuseHandshake(): void {
    this.ending = { error: "misdirected" };
    this.status = 0;
    this.steps.splice(0, Infinity, denyStep("tls", "misdirected", "the TLS handshake would fail"));
  }

  /** Fields of the request for the upstream, see `textOfFields`. "" if it is not reached. */
  get sentFields(): string {
    return this.chosen === undefined ? "" : textOfFields(this.request.headers.entries());
  }

  /** Fields of the upstream's response for the client. */
  get answeredFields(): string {
    return this.#response === undefined ? "" : textOfFields(this.#response.headers.entries());
  }

  /** Whether a rule has forwarded it to an internal endpoint. */
  get isForwarded(): boolean {
    return this.steps.some(({ forwardTo }) => forwardTo !== undefined);
  }

  /** The object with the rules that run now. */
  get owner(): string {
    return this.steps.findLast(({ by }) => by === "router")?.decidedBy?.id ?? this.route?.id ?? "";
  }

  #responded(response: ModuleResponse): void {
    this.status = response.status;
    if (response.isTransformed) response.headers.delete("content-length");
    this.#end();
  }

  #end(): void {
    if (this.isOver) return;
    this.conclude();
    this.#settle?.();
  }

  /** The record shows the results of a configuration that has not changed since. */
  get #usesRecord(): boolean {
    const { record, isPresent } = this.#given;
    const { route, site } = this;
    return isPresent && Math.max(route?.revision ?? 0, site?.revision ?? 0) <= record.revision;
  }

  #takeLacking(): string | undefined {
    const lacking = this.#lacking;
    this.#lacking = undefined;
    return lacking;
  }

  #giveUp<T>(value: T, lacking = "a part of the request"): T {
    this.unknown ??= `the record does not contain ${lacking}`;
    return value;
  }

  /** A visitor who logged in with another client would have to log in again. */
  #checkVisitor(): void {
    const { visitor } = this.#given.record;
    if (visitor === undefined || this.login === undefined || visitor.module === "saml") return;
    if (visitor.module === this.login.module && visitor.clientId === this.login.clientId) return;
    this.unknown ??= "the visitor logged in with another client or provider";
  }

  readonly #onSecret = (name: string): void => this.lacks(`the value of the header field "${name}"`);
}

/** Actions for which `makeRecordedOutcome` says what is unknown in their results. */
const resultsOfRecord: ReadonlySet<string> = new Set([
  "basic-auth",
  "verify-webhook",
  "jwt-validation",
  "http-request",
  ...indifferentActions,
]);

/** Methods whose requests usually have no body. */
const bodyless: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Returns the body of a recorded request if the record has all of it. */
function restoreBody(
  { request: { body, method, httpVersion }, bytesIn, decision }: CapturedRequest,
  declared: number | undefined,
): Buffer | undefined {
  const length = declared !== undefined && declared > 0 ? declared : bytesIn;
  if (body !== undefined && body.length === length) return body;
  if (length > 0) return undefined;
  // Requests of HTTP/2 may have a body without a declared length, which a refused request has not sent yet.
  const isEmpty = (declared === 0 && httpVersion !== "2") || bodyless.has(method) || decision.outcome === "forwarded";
  return isEmpty ? Buffer.alloc(0) : undefined;
}

function resultOfStep(step: Step): PartResult<Step> {
  return { value: step, text: `${step.outcome} ${step.reason}` };
}

function resultOfVerdict(step: Step | undefined): PartResult<Step | undefined> {
  return { value: step, text: step?.reason ?? "" };
}

function resultOfAction(outcome: ActionOutcome): PartResult<ActionOutcome> {
  return { value: outcome, text: `${outcome.outcome} ${outcome.end?.by ?? ""}` };
}

/** The simulated response has more details. */
function withAnswerOf(recorded: Step, simulated: Step): Step {
  return recorded.answer !== undefined && recorded.outcome === simulated.outcome && simulated.answer !== undefined
    ? { ...recorded, answer: simulated.answer }
    : recorded;
}

function withoutEnd(outcome: ActionOutcome, isEnd: boolean): ActionOutcome {
  if (isEnd || outcome.end === undefined) return outcome;
  const { end: _end, ...rest } = outcome;
  return rest;
}
