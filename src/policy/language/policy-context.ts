/** Data of one request or connection for the expressions and actions of a policy. */
import { Meter } from "../../cel/values/budget.ts";
import type { Budget, Run } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { KeySetsOf } from "../../jose/key-sets.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Exchange, ResponseHead } from "../../traffic/exchange.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import type { IpPolicyVerdicts as CompiledIpPolicy } from "../../traffic/parts/compiled-ip-policy.ts";
import type { Phase } from "./phase.ts";
import type { Cookies } from "./cookie-set.ts";
import type { Lists } from "../../traffic/variables/parsed.ts";
import type { AskedLogin } from "../../traffic/asked-login.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { WindowPool } from "./window-pool.ts";

/** Steps of one rule: its expressions, the values of its actions, and the work of its actions. */
export const ruleSteps = 20_000;
/** Steps of all rules on one request, connection or message of an event stream. */
export const requestSteps = 100_000;

/** Services of the server in which a policy runs. */
export interface PolicyServices {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** Whether the account has an online internal HTTP endpoint with this name, see `nameOf`, for either scheme. */
  internalEndpoint(accountId: string, name: string): boolean;
  /** Returns the value of a secret of the account, by the present names of the secret and its vault. */
  secret(accountId: string, vault: string, name: string): string | undefined;
  /** Whether the account has an online internal endpoint for TLS or TCP at this address. */
  internalConnection(accountId: string, address: InternalAddress): boolean;
  /** Maximum bytes of a webhook's body that is buffered for verification. */
  readonly webhookBytes: number;
  /** Whether to reject a webhook whose signed id has already succeeded once. */
  readonly webhookRefuseReplays: boolean;
  /** Effect of an expression without a value: its rule does not match, or the request is rejected. */
  readonly expressionErrors: "no_match" | "refuse";
  /** Key sets of token issuers. Default: those of this server. */
  readonly keySets?: KeySetsOf;
  /** Limits the memory of all rate limits together. Each one also has a separate limit. */
  readonly windows?: WindowPool;
  /** Called when a policy is compiled that reads locations or categories of addresses. */
  wantAddresses(): void;
  /** Sends requests of rules. Default: no internal endpoint and no external host is reachable. */
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
  wantAddresses() {},
});

/** The route, edge or endpoint that a policy is attached to. */
export interface PolicyPlace {
  /** Held while the policy runs, so that users of the same text can share its compiled form. */
  readonly policy?: object;
  readonly accountId: string;
  readonly ownerId: string;
  readonly endpoint: PolicyEndpoint;
  readonly clock: Clock;
  readonly services: PolicyServices;
  /** Returns state that survives recompiling. Call this in `attach` only. The key gets the place's own prefix. */
  keep<T>(key: string, make: () => T): T;
  /** Returns the rules of an IP policy of the account. Call this in `attach` only. Throws if it does not exist. */
  ipPolicy(id: string): CompiledIpPolicy;
  /**
   * Returns the certificates of an authority of the account, PEM. Call this in `attach` only. Throws if it does not
   * exist.
   */
  authority(id: string): string;
  /** Requires visitors to log in. Call this in `attach` only. Throws if logins are impossible there. */
  login(asked: AskedLogin): LoginGuard;
}

export interface PolicyEndpoint {
  readonly id: string;
  readonly protocol: "https" | "http" | "tls" | "tcp";
}

/** Maximum log entries of one request or connection. */
const maxLogs = 20;

/** Values of one `log` action, for the event of the request or connection. */
export type LogEntry = Readonly<Record<string, unknown>>;

/** Result of an action for later rules. */
export type ActionResult = Readonly<Record<string, Value | undefined>>;

/** Created for every request that a policy acts on. Rarely used parts are created on first use. */
export class PolicyContext extends Meter implements Budget {
  readonly place: PolicyPlace;
  /** Contains more data after TLS was terminated. */
  connection: ConnectionFacts;
  /** The connection, while rules act on connections. */
  open: OpenConnection | undefined;
  /** Absent while there is only a connection. */
  readonly exchange: Exchange | undefined;
  /** If true, actions have no side effects. */
  readonly isRehearsal: boolean;
  /** The rehearsal ends at this login. */
  until: LoginGuard | undefined;
  /** Steps left for the present rule. */
  override steps = ruleSteps;
  /** Steps left for the rules after it. */
  #stepsBehind = requestSteps - ruleSteps;
  run: Run | undefined;
  phase: Phase;
  #vars: Record<string, Value> | undefined;
  #results: Map<string, ActionResult> | undefined;
  /** The present message of an event stream, including changes by rules. */
  message: Buffer | undefined;
  /** The policy's own response, on which its response rules act. */
  answered: ResponseHead | undefined;
  /** Parsed parts of the messages, cached until `forget`. */
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

  /** The response that rules act on: the upstream's or the policy's own. */
  get response(): ResponseHead | undefined {
    return this.answered ?? this.exchange?.response;
  }

  /** Variables of this phase; undefined while there are none. */
  get vars(): Readonly<Record<string, Value>> | undefined {
    return this.#vars;
  }

  /** The map has no prototype, so `vars.constructor` is absent unless it was set. */
  setVariable(name: string, value: Value): void {
    this.#vars ??= Object.create(null) as Record<string, Value>;
    this.#vars[name] = value;
  }

  /** Result of the last run of the action with this name; undefined if it has not run. */
  result(name: string): ActionResult | undefined {
    return this.#results?.get(name);
  }

  keepResult(name: string, result: ActionResult): void {
    (this.#results ??= new Map()).set(name, result);
  }

  /** Call this after a message may have changed. */
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

  /** Returns the unused steps of the previous rule to the other rules. */
  enterRule(): void {
    const left = this.#stepsBehind + Math.max(this.steps, 0);
    this.steps = Math.min(left, ruleSteps);
    this.#stepsBehind = left - this.steps;
  }

  /** A stream has any number of messages, so each message has the steps of a request, and separate variables. */
  enterMessage(message: Buffer): void {
    this.enter("on_event_stream_message");
    this.message = message;
    this.steps = ruleSteps;
    this.#stepsBehind = requestSteps - ruleSteps;
  }

  /** Returns a secret of the account; undefined if it does not exist. */
  secret(vault: string, name: string): string | undefined {
    const { accountId, services } = this.place;
    const found = services.secret(accountId, vault, name);
    if (found !== undefined) this.conceal(found);
    return found;
  }

  /** Marks another text that rehearsals must not show, such as a visitor's token. */
  conceal(text: string): void {
    if (this.isRehearsal && text !== "") (this.#secrets ??= new Set()).add(text);
  }

  /** Texts that rehearsals must not show: every secret read so far. */
  get secrets(): ReadonlySet<string> {
    return this.#secrets ?? noSecrets;
  }

  get logs(): readonly LogEntry[] {
    return this.#logs ?? nothing;
  }

  /** A rehearsal records nothing. */
  log(entry: LogEntry): void {
    if (this.isRehearsal) return;
    const logs = (this.#logs ??= [...(this.exchange?.logs ?? [])]);
    if (logs.length < maxLogs) logs.push(entry);
    if (this.exchange) this.exchange.logs = logs;
  }
}

const noSecrets: ReadonlySet<string> = new Set();
const nothing: readonly LogEntry[] = Object.freeze([]);
