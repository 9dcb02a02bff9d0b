/** A compiled policy on one route or edge: the hooks that act on its traffic. */
import { hash } from "node:crypto";
import { resumeMark } from "../lib/heartbeat.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { ConnectionFacts } from "../traffic/connection-facts.ts";
import type { LoginGuard } from "../traffic/login.ts";
import type { CompiledModule, OpenedDecision } from "../traffic/module.ts";
import type { OpenConnection } from "../traffic/open-connection.ts";
import { OwnResponse } from "../traffic/own-response.ts";
import { denyStep, passStep } from "../traffic/step.ts";
import type { Answer, FixedAnswer, Step } from "../traffic/step.ts";
import type { PhaseEnd } from "./language/action.ts";
import { policyModuleName } from "./compile-policy.ts";
import type { CompiledPolicy, CompiledRule } from "./compiled-policy.ts";
import { PolicyContext } from "./language/policy-context.ts";
import { watchMessages } from "./watch-messages.ts";
import type { PolicyPlace } from "./language/policy-context.ts";
import { runRules } from "./run-rules.ts";
import type { RuleCounts, RuleStates } from "./run-rules.ts";

const none: readonly CompiledRule[] = Object.freeze([]);
const through = passStep(policyModuleName, "no rule ended it");

/** Attaches the policy. Throws if one of its actions cannot be attached. */
export function policyHooks(policy: CompiledPolicy, given: PolicyPlace): CompiledModule {
  if (!policy.enabled) return {};
  const logins: LoginGuard[] = [];
  const place: PolicyPlace = { ...given, login: (asked) => appendTo(logins, given.login(asked)) };
  const connect = attachRules(policy.phases.on_tcp_connect, place);
  const request = attachRules(policy.phases.on_http_request, place);
  const response = attachRules(policy.phases.on_http_response, place);
  const messages = attachRules(policy.phases.on_event_stream_message, place);
  const hooks = new PolicyHooks(place, { connect, request, response, messages });
  const { protocol } = place.endpoint;
  // HTTP connections are decided with their first request, because only then their route is known.
  const isHttp = protocol === "https" || protocol === "http";
  return {
    ...(!isHttp &&
      connect.rules.length > 0 && {
        opened: (connection) => hooks.opened(connection, false),
        rehearseOpened: (connection) => hooks.opened(connection, true),
      }),
    ...(!isHttp && endsTls(connect.rules) && { endsTls: true }),
    ...(policy.readsPath === true && { readsPath: true }),
    ...((request.rules.length > 0 || (isHttp && connect.rules.length > 0)) && {
      request: (exchange) => hooks.request(exchange, false),
      rehearse: (exchange) => hooks.request(exchange, true),
    }),
    ...((response.rules.length > 0 || messages.rules.length > 0) && {
      response: (exchange) => hooks.response(exchange, false),
      rehearseResponse: (exchange) => hooks.response(exchange, true),
    }),
    ...((messages.rules.length > 0 || hasProperty(response.rules, "readsResponseBody")) && { readsResponseBody: true }),
    ...(logins.length > 0 && {
      logins,
      beforeLogin: (login, exchange) => hooks.beforeLogin(login, exchange),
    }),
    ...(hooks.settles && {
      settled: (exchange, status) => hooks.settled(exchange, status),
    }),
  };
}

function appendTo<T>(list: T[], one: T): T {
  list.push(one);
  return one;
}

/** Whether one of the rules may terminate TLS. */
export function endsTls(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ actions }) => actions.some(({ declaration }) => declaration.endsTls === true));
}

/** Whether an action of one of the rules has this property. */
function hasProperty(rules: readonly CompiledRule[], property: "readsResponseBody" | "haltsUnread"): boolean {
  return rules.some(({ actions }) => actions.some(({ compiled }) => compiled[property] === true));
}

interface Attached {
  readonly rules: readonly CompiledRule[];
  readonly states: RuleStates;
}

function attachRules(rules: readonly CompiledRule[] = none, place: PolicyPlace): Attached {
  if (rules.length === 0) return { rules, states: [] };
  const counts = place.keep(`counts ${conditionsOf(rules)}`, () => rules.map(() => ({ matched: 0, failed: 0 })));
  const states = rules.map(({ actions }, at) => ({
    actions: actions.map(({ compiled }) => compiled.attach?.(place)),
    counts: counts[at] as RuleCounts,
  }));
  return { rules, states };
}

/** Returns a key that changes only with the conditions of the phase, so that counters belong to the same rules. */
function conditionsOf(rules: readonly CompiledRule[]): string {
  const said = rules.map(({ label, expressions }) => [label, ...expressions.map(({ program }) => program.source)]);
  return hash("sha256", JSON.stringify(said));
}

type PhaseName = "connect" | "request" | "response" | "messages";

class PolicyHooks {
  readonly #place: PolicyPlace;
  readonly #connect: Attached;
  readonly #request: Attached;
  readonly #response: Attached;
  readonly #messages: Attached;
  readonly #haltsUnread: boolean;
  /** Contexts of open requests that are waiting for a response. */
  readonly #contexts = new WeakMap<Exchange, PolicyContext>();
  readonly #settling: readonly Settling[];
  /**
   * Results of the connection rules for connections that carry HTTP; undefined if the rules let the connection pass.
   */
  readonly #connections = new WeakMap<ConnectionFacts, Promise<Step | undefined> | Step | "passed">();

  constructor(place: PolicyPlace, { connect, request, response, messages }: Readonly<Record<PhaseName, Attached>>) {
    this.#place = place;
    this.#connect = connect;
    this.#request = request;
    this.#response = response;
    this.#messages = messages;
    this.#haltsUnread = hasProperty(messages.rules, "haltsUnread");
    this.#settling = [request, response].flatMap(({ rules, states }) =>
      rules.flatMap(({ actions }, rule) =>
        actions.flatMap(({ compiled }, at) =>
          compiled.settled ? [{ compiled, state: states[rule]?.actions[at] } as Settling] : [],
        ),
      ),
    );
  }

  /** Whether an action needs the upstream's outcome. */
  get settles(): boolean {
    return this.#settling.length > 0;
  }

  settled(exchange: Exchange, status: number | undefined): void {
    for (const { compiled, state } of this.#settling) compiled.settled(exchange, status, state);
  }

  opened(connection: OpenConnection, isRehearsal: boolean): OpenedDecision | Promise<OpenedDecision> {
    const { rules, states } = this.#connect;
    const context = new PolicyContext(this.#place, "on_tcp_connect", connection.facts, undefined, isRehearsal);
    context.open = connection;
    const steps: Step[] = [];
    const end = runRules(rules, states, context, steps);
    return end instanceof Promise
      ? end.then((ended) => endConnection(ended, steps, context))
      : endConnection(end, steps, context);
  }

  request(exchange: Exchange, isRehearsal: boolean): Step | Promise<Step> {
    if (this.#connect.rules.length === 0) return this.#requested(exchange, isRehearsal);
    const closed = this.#connected(exchange, isRehearsal);
    if (closed instanceof Promise)
      return closed.then(resumeMark((step) => step ?? this.#requested(exchange, isRehearsal)));
    return closed ?? this.#requested(exchange, isRehearsal);
  }

  /**
   * Returns the step that closes the connection of a request; undefined if it stays open. Evaluated once per
   * connection.
   */
  #connected(exchange: Exchange, isRehearsal: boolean): Step | undefined | Promise<Step | undefined> {
    const known = isRehearsal ? undefined : this.#connections.get(exchange.connection);
    if (known !== undefined) return known === "passed" ? undefined : known;
    const { rules, states } = this.#connect;
    const context = new PolicyContext(this.#place, "on_tcp_connect", exchange.connection, exchange, isRehearsal);
    const end = runRules(rules, states, context, exchange.steps);
    const closing = end instanceof Promise ? end.then(closeStep) : closeStep(end);
    if (!isRehearsal) this.#connections.set(exchange.connection, closing ?? "passed");
    return closing;
  }

  #requested(exchange: Exchange, isRehearsal: boolean): Step | Promise<Step> {
    const { rules, states } = this.#request;
    const context = new PolicyContext(this.#place, "on_http_request", exchange.connection, exchange, isRehearsal);
    if (this.#actsOnResponses) this.#contexts.set(exchange, context);
    const end = runRules(rules, states, context, exchange.steps);
    if (end === undefined) return through;
    return end instanceof Promise
      ? end.then(resumeMark((ended) => this.#ended(ended, context)))
      : this.#ended(end, context);
  }

  /** Returns the result of the rules before the login. These rules may also skip the login, which is not a refusal. */
  beforeLogin(login: LoginGuard, exchange: Exchange): Step | undefined | Promise<Step | undefined> {
    if (this.#connect.rules.length === 0) return this.#beforeLogin(login, exchange);
    const closed = this.#connected(exchange, true);
    if (closed instanceof Promise) return closed.then(resumeMark((step) => step ?? this.#beforeLogin(login, exchange)));
    return closed ?? this.#beforeLogin(login, exchange);
  }

  #beforeLogin(login: LoginGuard, exchange: Exchange): Step | undefined | Promise<Step | undefined> {
    const { rules, states } = this.#request;
    const context = new PolicyContext(this.#place, "on_http_request", exchange.connection, exchange, true);
    context.until = login;
    const end = runRules(rules, states, context, exchange.steps);
    return end instanceof Promise ? end.then(stopStep) : stopStep(end);
  }

  response(exchange: Exchange, isRehearsal: boolean): Step | Promise<Step> {
    const { rules, states } = this.#response;
    const context =
      this.#contexts.get(exchange) ??
      new PolicyContext(this.#place, "on_http_response", exchange.connection, exchange, isRehearsal);
    context.enter("on_http_response");
    const unread = this.#watch(context);
    if (unread !== undefined) return unread;
    const end = runRules(rules, states, context, exchange.steps);
    return end instanceof Promise ? end.then(stepOf) : stepOf(end);
  }

  get #actsOnResponses(): boolean {
    return this.#response.rules.length > 0 || this.#messages.rules.length > 0;
  }

  /** Returns the step that rejects an event stream that its rules cannot read and that must not pass. */
  #watch(context: PolicyContext): Step | undefined {
    const { rules, states } = this.#messages;
    const { response } = context;
    if (rules.length === 0 || !response) return undefined;
    return watchMessages(rules, states, context, response, this.#haltsUnread);
  }

  /** Ends the request phase. If the policy sends its own response, its response rules still run. */
  #ended(end: PhaseEnd | undefined, context: PolicyContext): Step | Promise<Step> {
    const { answer } = (end?.by === "answer" && end) || {};
    if (answer === undefined || "error" in answer || !this.#actsOnResponses) return stepOf(end);
    const response = new OwnResponse(answer);
    context.answered = response;
    context.enter("on_http_response");
    const unread = this.#watch(context);
    if (unread !== undefined) return unread;
    const { rules, states } = this.#response;
    const steps = (context.exchange as Exchange).steps;
    const replaced = runRules(rules, states, context, steps);
    const finish = (other: PhaseEnd | undefined): Step | Promise<Step> =>
      other === undefined ? finishResponse(response) : stepOf(other);
    return replaced instanceof Promise ? replaced.then(resumeMark(finish)) : finish(replaced);
  }
}

interface Settling {
  readonly compiled: {
    settled(exchange: Exchange, upstreamStatus: number | undefined, state: unknown): void;
  };
  readonly state: unknown;
}

/** Returns the step of the rule that closes the connection. No other step follows. */
function endConnection(end: PhaseEnd | undefined, steps: Step[], context: PolicyContext): OpenedDecision {
  const forwardTo = end?.by === "forward" ? end.address : undefined;
  const closes = end !== undefined && forwardTo === undefined;
  const last = steps.at(-1);
  if (closes && last) steps[steps.length - 1] = { ...last, answer: stepOf(end).answer as Answer };
  return { steps, closes, forwardTo, logs: context.logs };
}

/** Returns a step that closes the connection, for any end of the connection phase. */
function closeStep(end: PhaseEnd | undefined): Step | undefined {
  return end && stepOf({ by: "close" });
}

function stopStep(end: PhaseEnd | undefined): Step | undefined {
  if (end === undefined || end.by === "reached" || end.by === "forward") return undefined;
  return end.by === "login" ? end.step : stepOf(end);
}

/** Returns the module's own step, after those of its rules. */
function stepOf(end: PhaseEnd | undefined): Step {
  switch (end?.by) {
    case undefined:
    case "reached":
      return through;
    case "login":
      return { ...end.step, by: policyModuleName };
    case "answer":
      return { by: policyModuleName, outcome: "answered", reason: "answered by a rule", answer: end.answer };
    case "refusal":
      return { by: policyModuleName, outcome: "denied", reason: "denied by a rule", answer: end.answer };
    case "close":
      return {
        by: policyModuleName,
        outcome: "denied",
        reason: "closed by a rule",
        answer: { status: 403, headers: {}, body: "" },
        drops: true,
      };
    case "forward":
      return { by: policyModuleName, outcome: "changed", reason: `forwarded to ${end.url}`, forwardTo: end.url };
  }
}

const broken = denyStep(policyModuleName, "policy_action_failed", "its rules could not change the response's body");

function finishResponse(response: OwnResponse): Step | Promise<Step> {
  const answer = response.answer();
  return answer instanceof Promise ? answer.then(answerWith).catch(() => broken) : answerWith(answer);
}

function answerWith(answer: FixedAnswer): Step {
  return { by: policyModuleName, outcome: "answered", reason: "answered by a rule", answer };
}
