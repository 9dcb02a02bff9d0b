/** Starts a login: a state for the provider and a flow cookie for the browser. The server stores nothing. */
import { resumeMark } from "../../lib/heartbeat.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { loginCookie } from "../../traffic/login.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { LoginContext } from "./login-context.ts";
import { dropCookie, setCookie } from "../browser/cookies.ts";
import { flowCookieName, flowMs, newFlow, openFlow, sealFlow, sealState } from "../browser/flow.ts";
import { makeRefusedLogin } from "../sessions/login-events.ts";
import type { LoginGate } from "./guard-options.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { answerRedirect, refusalAnswer } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { callbackUri } from "../browser/login-settings.ts";
import { turnAway } from "../browser/turn-away.ts";

export interface BeginOptions {
  readonly returnPath: string;
  /** For the trace. */
  readonly why: string;
  /** Whether the visitor must enter credentials again. */
  readonly anew?: boolean;
  readonly prompt?: string | undefined;
  /** Id of the authorization of a client that is not a browser. */
  readonly authorization?: string;
}

/** Maximum number of logins in progress per browser and realm. */
const maxFlows = 5;
/** Maximum number of logins of a realm per minute whose session cookie did not arrive. */
const maxTries = 3;
const triesMs = 60_000;
/** Suffix of the cookie that counts them. */
const triesName = "recent";

export function beginLogin(
  guard: LoginGate,
  context: LoginContext,
  exchange: Exchange,
  options: BeginOptions,
): Step | Promise<Step> {
  const failed = (error: unknown): Step => notBegun(error, guard, context, exchange, options.returnPath);
  try {
    const turn = context.gate.enter();
    const begun = turn
      ? turn.then(resumeMark(() => beginForVisitor(guard, context, exchange, options)))
      : beginForVisitor(guard, context, exchange, options);
    return begun instanceof Promise ? begun.catch(failed) : begun;
  } catch (error) {
    return failed(error);
  }
}

function beginForVisitor(
  guard: LoginGate,
  context: LoginContext,
  exchange: Exchange,
  options: BeginOptions,
): Step | Promise<Step> {
  const { method, realm, ownerId, accountId } = guard.options;
  const { clock, sealer, tell } = context;
  const { host } = exchange.request;
  if (!sealer.isReady) {
    const shown = { requestId: exchange.id, provider: method.title, asPage: wantsPage(exchange.request) };
    return turnAway(method.kind, "the control plane has sent no key yet", refusalAnswer("login_unchecked", shown));
  }
  const tries = readTries(guard, context, exchange);
  if (tries >= maxTries) {
    const shown = { requestId: exchange.id, provider: method.title, asPage: true };
    const cookie = dropCookie(realm.flowCookie + triesName);
    const answer = refusalAnswer("login_loop", shown, { "set-cookie": [cookie] });
    const reason = `${tries} logins in a minute did not create a session`;
    tell("login_refused.v0", accountId, () =>
      makeRefusedLogin({ exchange, errorName: "login_loop", reason, place: guard }),
    );
    return turnAway(method.kind, reason, answer);
  }
  const flow = newFlow(
    {
      routeId: ownerId,
      returnPath: options.returnPath,
      tries,
      anew: options.anew ?? false,
      authorization: options.authorization,
    },
    clock.now(),
  );
  const state = sealState({ id: flow.id, host, realm: realm.tag, startedAt: flow.startedAt }, sealer);
  const name = flowCookieName(realm.flowCookie, flow.id);
  const cookies = [
    ...dropOldestFlows(guard, context, exchange),
    setCookie(name, sealFlow(flow, host, name, sealer), flowMs / 1000),
  ];
  const sent = (to: string | Answer): Step => {
    const why = `${options.why}: ${describeDestination(guard, context)}`;
    if (typeof to === "string") return answerStep(method.kind, why, answerRedirect(302, to, cookies));
    return answerStep(
      method.kind,
      why,
      "error" in to ? to : { ...to, headers: { ...to.headers, "set-cookie": cookies } },
    );
  };
  const begun = method.begin(flow, state, options.prompt, host);
  return begun instanceof Promise ? begun.then(sent) : sent(begun);
}

/** The answer for a visitor who cannot be sent to the provider. Rethrows errors that are not refusals. */
function notBegun(
  error: unknown,
  guard: LoginGate,
  context: LoginContext,
  exchange: Exchange,
  returnPath: string,
): Step {
  if (!(error instanceof LoginRefusal)) throw error;
  const { reason: errorName, message: reason } = error;
  const { method, accountId } = guard.options;
  context.log.warn("login not started", { request: exchange.id, reason });
  context.tell("login_refused.v0", accountId, () => makeRefusedLogin({ exchange, errorName, reason, place: guard }));
  return turnAway(method.kind, reason, guard.refusal(exchange, errorName, undefined, returnPath));
}

/** For the trace and dry runs: the destination, and the callback URL to register there. */
export function describeDestination({ options: { method } }: LoginGate, { settings }: LoginContext): string {
  const { title, callbackPath, warning } = method;
  const sent = `sent to ${title} to log in, and then back to ${callbackUri(settings, callbackPath)}`;
  return warning === undefined ? sent : `${sent}; ${warning}`;
}

/** The browser's oldest flows beyond the maximum, counting the new one. */
function dropOldestFlows(
  { options }: LoginGate,
  { sealer }: LoginContext,
  { loginCookies, request }: Exchange,
): string[] {
  const present: { readonly name: string; readonly startedAt: number }[] = [];
  for (let at = 0; at < (loginCookies?.length ?? 0); at += 2) {
    const name = loginCookies?.[at] ?? "";
    if (!name.startsWith(options.realm.flowCookie) || name.endsWith(triesName)) continue;
    const flow = openFlow(loginCookies?.[at + 1] ?? "", request.host, name, sealer);
    present.push({ name, startedAt: flow?.startedAt ?? 0 });
  }
  present.sort((one, other) => other.startedAt - one.startedAt);
  return present.slice(maxFlows - 1).map(({ name }) => dropCookie(name));
}

function readTries(
  { options }: LoginGate,
  { sealer, clock }: LoginContext,
  { loginCookies, request }: Exchange,
): number {
  const name = options.realm.flowCookie + triesName;
  const value = loginCookie(loginCookies, name);
  const opened = value === undefined ? undefined : sealer.open(value, `${request.host} ${name}`);
  if (opened === undefined) return 0;
  const [tries = 0, at = 0] = opened.split(" ").map(Number);
  return clock.now() - at < triesMs ? tries : 0;
}

/** Counts a finished login. The count is ignored when the session cookie arrives. */
export function triesCookie(
  { options }: LoginGate,
  { sealer, clock }: LoginContext,
  host: string,
  tries: number,
): string {
  const name = options.realm.flowCookie + triesName;
  return setCookie(name, sealer.seal(`${tries} ${clock.now()}`, `${host} ${name}`), triesMs / 1000);
}
