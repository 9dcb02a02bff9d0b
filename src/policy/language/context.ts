/** What expressions and actions of a policy see of one request or connection. */
import { Meter } from "../../cel/values/run.ts";
import type { Budget, Run } from "../../cel/values/run.ts";
import type { Value } from "../../cel/values/values.ts";
import type { KeySetsOf } from "../../jose/key-sets.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ConnectionFacts, Exchange, ResponseHead } from "../../traffic/exchange.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import type { CompiledPolicy as CompiledIpPolicy } from "../../traffic/parts/ip-policy.ts";
import type { Phase } from "./action.ts";
import type { Cookies } from "./cookies.ts";
import type { Lists } from "../../traffic/variables/parsed.ts";
import type { AskedLogin } from "../../traffic/asked-login.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { WindowPool } from "./window-pool.ts";

/** Steps of one rule: its expressions, the values of its actions, and what its actions do with them. */
export const ruleSteps = 20_000;
/** Steps of all rules on one request, connection or message of an event stream. */
export const requestSteps = 100_000;

/** What a policy takes from the server that it runs in. */
export interface PolicyServices {
  /** 0 up to, and without, 1. */
  random(): number;
  /** Whether the account has an internal endpoint of HTTP of this name, see `nameOf`, and it is online: that of the other scheme will do. */
  internalEndpoint(accountId: string, name: string): boolean;
  /** The value of a secret of the account, by the names that it and its vault have now. */
  secret(accountId: string, vault: string, name: string): string | undefined;
  /** The same of one of TLS or TCP. */
  internalConnection(accountId: string, address: InternalAddress): boolean;
  /** Bytes of a webhook's body that is held to be verified. */
  readonly webhookBytes: number;
  /** Whether a webhook whose signed id was answered with success before is refused. */
  readonly webhookRefuseReplays: boolean;
  /** What an expression that has no value does to its rule: it does not match, or the request is refused. */
  readonly expressionErrors: "no_match" | "refuse";
  /** Of issuers of tokens; those of this server when absent. */
  readonly keySets?: KeySetsOf;
  /** Bounds what all limits of rates remember together; each by itself is bounded anyway. */
  readonly windows?: WindowPool;
  /** Requests that rules send; where it is absent they reach no internal endpoint, and no host outside. */
  readonly calls?: HttpCaller;
}

export const defaultPolicyServices: PolicyServices = Object.freeze({
  random: Math.random,
  internalEndpoint: () => false,
  secret: () => undefined,
  internalConnection: () => false,
  webhookBytes: 5 * 1024 * 1024,
  webhookRefuseReplays: false,
  expressionErrors: "no_match" as const,
});

/** The route, edge or endpoint that a policy is attached to. */
export interface PolicyPlace {
  /** Held as long as the policy runs, so that whoever has the same text can share what it compiles to. */
  readonly policy?: object;
  readonly accountId: string;
  readonly ownerId: string;
  readonly endpoint: PolicyEndpoint;
  readonly clock: Clock;
  readonly services: PolicyServices;
  /** State that survives recompiling; asked for in `attach` only. The key is prefixed with the place's own. */
  keep<T>(key: string, make: () => T): T;
  /** The rules of an IP policy of the account; in `attach` only. Throws when there is none. */
  ipPolicy(id: string): CompiledIpPolicy;
  /** The certificates of an authority of the account, PEM; in `attach` only. Throws when there is none. */
  authority(id: string): string;
  /** Has visitors log in; in `attach` only. Throws where they cannot. */
  login(asked: AskedLogin): LoginGuard;
}

export interface PolicyEndpoint {
  readonly id: string;
  readonly protocol: "https" | "http" | "tls" | "tcp";
}

/** Of one request or connection. */
const maxLogs = 20;

/** What `log` has noted once, for the event of the request or connection. */
export type LogEntry = Readonly<Record<string, unknown>>;

/** What an action leaves for later rules. */
export type ActionResult = Readonly<Record<string, Value | undefined>>;

/** Made for every request that a policy acts on: what few rules need is made when it is first asked for. */
export class PolicyContext extends Meter implements Budget {
  readonly place: PolicyPlace;
  /** More is known of it once TLS was ended. */
  connection: ConnectionFacts;
  /** The connection itself, while rules act on connections. */
  open: OpenConnection | undefined;
  /** Absent while there is only a connection. */
  readonly exchange: Exchange | undefined;
  /** Nothing with side effects is carried out. */
  readonly isRehearsal: boolean;
  /** The rehearsal ends where this login is asked for. */
  until: LoginGuard | undefined;
  /** Left for the present rule. */
  override steps = ruleSteps;
  /** Left for the rules behind it. */
  #stepsBehind = requestSteps - ruleSteps;
  run: Run | undefined;
  phase: Phase;
  #vars: Record<string, Value> | undefined;
  #results: Map<string, ActionResult> | undefined;
  /** The message of an event stream on which its phase acts, as it has become. */
  message: Buffer | undefined;
  /** An answer of the policy's own, on which its response rules act. */
  answered: ResponseHead | undefined;
  /** What was parsed of the messages, kept until `forget`. */
  query: Lists | undefined;
  cookies: Cookies | undefined;
  setCookies: Cookies | undefined;
  #logs: LogEntry[] | undefined;
  #secrets: Set<string> | undefined;

  constructor(
    place: PolicyPlace,
    phase: Phase,
    connection: ConnectionFacts,
    exchange: Exchange | undefined,
    isRehearsal: boolean,
  ) {
    super();
    this.place = place;
    this.phase = phase;
    this.connection = connection;
    this.exchange = exchange;
    this.isRehearsal = isRehearsal;
  }

  /** The response that rules act on, the upstream's or the policy's own. */
  get response(): ResponseHead | undefined {
    return this.answered ?? this.exchange?.response;
  }

  /** Variables of this phase alone; undefined while there are none. */
  get vars(): Readonly<Record<string, Value>> | undefined {
    return this.#vars;
  }

  /** Without a prototype: `vars.constructor` is nothing unless it was set. */
  setVariable(name: string, value: Value): void {
    this.#vars ??= Object.create(null) as Record<string, Value>;
    this.#vars[name] = value;
  }

  /** Of the last action of that name that ran; undefined when none has. */
  result(name: string): ActionResult | undefined {
    return this.#results?.get(name);
  }

  keepResult(name: string, result: ActionResult): void {
    (this.#results ??= new Map()).set(name, result);
  }

  /** To be called once a message may have been changed. */
  forget(): void {
    this.query = undefined;
    this.cookies = undefined;
    this.setCookies = undefined;
  }

  enter(phase: Phase): void {
    this.phase = phase;
    this.forget();
    this.#vars = undefined;
  }

  /** What the rule before has not used is left for others. */
  enterRule(): void {
    const left = this.#stepsBehind + Math.max(this.steps, 0);
    this.steps = Math.min(left, ruleSteps);
    this.#stepsBehind = left - this.steps;
  }

  /** A stream has no end of messages: each has the steps of a request, and variables of its own. */
  enterMessage(message: Buffer): void {
    this.enter("on_event_stream_message");
    this.message = message;
    this.steps = ruleSteps;
    this.#stepsBehind = requestSteps - ruleSteps;
  }

  /** A secret of the account; undefined when there is none. */
  secret(vault: string, name: string): string | undefined {
    const { accountId, services } = this.place;
    const found = services.secret(accountId, vault, name);
    if (found !== undefined) this.conceal(found);
    return found;
  }

  /** What a rehearsal may not show either, such as a visitor's token. */
  conceal(text: string): void {
    if (this.isRehearsal && text !== "") (this.#secrets ??= new Set()).add(text);
  }

  /** What a rehearsal may not show: every secret that it has read so far. */
  get secrets(): ReadonlySet<string> {
    return this.#secrets ?? noSecrets;
  }

  get logs(): readonly LogEntry[] {
    return this.#logs ?? nothing;
  }

  /** Of a rehearsal nothing is noted. */
  log(entry: LogEntry): void {
    if (this.isRehearsal) return;
    const logs = (this.#logs ??= [...(this.exchange?.logs ?? [])]);
    if (logs.length < maxLogs) logs.push(entry);
    if (this.exchange) this.exchange.logs = logs;
  }
}

const noSecrets: ReadonlySet<string> = new Set();
const nothing: readonly LogEntry[] = Object.freeze([]);
