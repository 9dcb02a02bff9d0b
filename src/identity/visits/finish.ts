/** Finishes a login, on the host where it started. */
import { newId } from "../../lib/ids.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { loginCookie } from "../../traffic/login.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { triesCookie } from "../guard/begin.ts";
import type { LoginContext, LoginRoute, LoginSite } from "../guard/login-context.ts";
import { dropCookie, setCookie } from "../browser/cookies.ts";
import { makeCompletedLogin, makeRefusedLogin } from "../sessions/login-events.ts";
import { flowCookieName, openFlow, openState, sameId } from "../browser/flow.ts";
import type { Flow } from "../browser/flow.ts";
import { refuseFor, scopesNote } from "./granted-scopes.ts";
import { Guard } from "../guard/login-guard.ts";
import { readParameters } from "../browser/parameters.ts";
import { LoginRefusal, tidyIdentity } from "../calls/identity.ts";
import type { LoggedIn } from "../calls/login-client.ts";
import { answerRedirect, refusalAnswer } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { asVisit } from "./as-visit.ts";
import { cookieHash, isSessionCookie, newSessionCookie } from "../sessions/login-session.ts";
import { makePendingGrant } from "../sessions/grant.ts";
import type { Session, SessionRecord } from "../sessions/login-session.ts";
import { sealTicket } from "../machines/sealed.ts";
import { originOf } from "../browser/login-settings.ts";
import { turnAway } from "../browser/turn-away.ts";
import { judgeIdentity } from "../sessions/login-verdict.ts";

const by = "login";

/** Answers every invalid callback itself. The provider is called only for this browser's own flow. */
export async function finishLogin(site: LoginSite, exchange: Exchange, context: LoginContext): Promise<Step> {
  let guard: Guard | undefined;
  let flow: Flow | undefined;
  try {
    await context.gate.enter();
    const parameters = readParameters(exchange.request.query);
    const found = checkFlow(site, exchange, parameters, context);
    ({ guard, flow } = found);
    context.used.set(flow.id, true);
    await finishOnce(guard, flow, context);
    const refused = await runEarlierModules(found.route, guard, exchange, flow.returnPath);
    if (refused) return refused;
    const meanwhile = findMeanwhileLogin(guard, flow, exchange, context);
    if (meanwhile) return meanwhile;
    const loggedIn = await guard.options.method.finish(parameters, flow);
    // Responses of providers can arrive in large numbers.
    await context.gate.enter();
    return await establishSession(guard, flow, loggedIn, exchange, context);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    const { reason: errorName, message: reason } = error;
    const refused = refuseLogin(error, { site, guard, exchange, context });
    if (!guard || !flow) return refused;
    const answer = guard.refusal(exchange, errorName, undefined, flow.returnPath);
    const cookie = dropCookie(flowCookieName(guard.options.realm.flowCookie, flow.id));
    return turnAway(guard.options.method.kind, reason, {
      ...answer,
      headers: { ...answer.headers, "set-cookie": [cookie] },
    });
  }
}

/** Once over all edges, if the response could be sent to another edge again. */
async function finishOnce({ options }: Guard, { id }: Flow, { reports, clock }: LoginContext): Promise<void> {
  const { accountId, method } = options;
  if (method.repeatableMs === undefined) return;
  const outcome = await reports.claimHere(accountId, `flow ${id}`, clock.now() + method.repeatableMs);
  if (outcome === "used") throw new LoginRefusal("login_used", "the login was already finished");
}

/** Reports a failed login to the operator. Returns the answer if it is unknown whose login it was. */
export function refuseLogin(
  { reason: errorName, message: reason }: LoginRefusal,
  at: { site: LoginSite; guard: Guard | undefined; exchange: Exchange; context: LoginContext },
): Step {
  const { site, guard, exchange, context } = at;
  context.log.info("login refused", { request: exchange.id, reason: errorName, detail: reason });
  const { accountId } = guard?.options ?? site;
  context.tell("login_refused.v0", accountId, () => makeRefusedLogin({ exchange, errorName, reason, place: guard }));
  const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), links: [startAgain(errorName, "")] };
  return turnAway(by, reason, refusalAnswer(errorName, shown));
}

/**
 * A link for a visitor whose login was lost, with the original destination.
 *
 * @param origin of the host that the visitor wanted; "" for the host that shows the link
 */
export function startAgain(errorName: LoginRefusal["reason"], origin: string) {
  // A completed login has left a session.
  if (errorName === "login_used") return { text: "Open the site", href: `${origin}/` };
  return { text: "Start again", href: `${origin}/.postern/login?path=%2F` };
}

/** Another tab of the same browser finished first, so this one continues to its destination. */
function findMeanwhileLogin(guard: Guard, flow: Flow, exchange: Exchange, context: LoginContext): Step | undefined {
  const { realm, method } = guard.options;
  const { host } = exchange.request;
  const cookie = loginCookie(exchange.loginCookies, realm.sessionCookie);
  const session = cookie === undefined || !isSessionCookie(cookie) ? undefined : context.sessions.find(cookie);
  if (!session || flow.anew || flow.authorization || session.record.loginAt < flow.startedAt) return undefined;
  if (guard.faultOf(session, host) !== undefined || !guard.verdictOf(session).admits) return undefined;
  const back = originOf(host, context.settings.httpsPort()) + flow.returnPath;
  const own = dropCookie(flowCookieName(realm.flowCookie, flow.id));
  return answerStep(
    method.kind,
    `session ${session.record.id} was created in the meantime`,
    answerRedirect(303, back, [own]),
  );
}

/** Returns the first matching login of a site. */
export function guardOf(site: LoginSite, matches: (guard: Guard) => boolean): Guard | undefined {
  return site.logins?.find((one): one is Guard => one instanceof Guard && matches(one));
}

export function guardsOf(site: LoginSite, matches: (guard: Guard) => boolean): readonly Guard[] {
  return (site.logins ?? []).filter((one): one is Guard => one instanceof Guard && matches(one));
}

/** Returns the state of the callback, whatever its age. */
export function readState(parameters: ReadonlyMap<string, string>, { sealer, clock }: LoginContext) {
  const text = parameters.get("state") ?? "";
  if (text === "") throw new LoginRefusal("login_state_missing", "the state is missing");
  const state = openState(text, sealer, clock.now());
  if (state === undefined) throw new LoginRefusal("login_state_unreadable", "the state is not from this server");
  return state;
}

export function checkAge({ isLate }: ReturnType<typeof readState>): void {
  if (isLate) throw new LoginRefusal("login_late", "the state is older than 15 minutes");
}

function checkFlow(
  site: LoginSite,
  exchange: Exchange,
  parameters: ReadonlyMap<string, string>,
  context: LoginContext,
) {
  const { sealer, used } = context;
  const { host } = exchange.request;
  const state = readState(parameters, context);
  checkAge(state);
  if (state.host !== host) throw new LoginRefusal("login_elsewhere", "the state belongs to another host");
  const isOfRealm = ({ options }: Guard): boolean => options.realm.tag === state.realm;
  if (!guardOf(site, isOfRealm)) {
    throw new LoginRefusal("login_elsewhere", "no route of the host has this login now");
  }
  const cookieOf = ({ options }: Guard): string => flowCookieName(options.realm.flowCookie, state.id);
  // Routes may differ only in their cookie prefix, and the browser's cookie tells which one started the flow.
  const begun = guardOf(
    site,
    (one) => isOfRealm(one) && loginCookie(exchange.loginCookies, cookieOf(one)) !== undefined,
  );
  const name = begun ? cookieOf(begun) : "";
  const cookie = loginCookie(exchange.loginCookies, name);
  const flow = cookie === undefined ? undefined : openFlow(cookie, host, name, sealer);
  if (!flow || !sameId(flow.id, state.id))
    throw new LoginRefusal("login_no_flow", "this browser has no cookie of this login");
  if (used.get(flow.id)) throw new LoginRefusal("login_used", "the login was already finished");
  const guard =
    guardOf(site, (one) => isOfRealm(one) && one.options.ownerId === flow.routeId) ??
    guardOf(site, (one) => isOfRealm(one) && one.options.isAgents === true);
  const route = guard && routeOf(site, guard, flow.returnPath, host);
  if (!guard || !route) {
    throw new LoginRefusal("login_elsewhere", "another route now has the address where the login started");
  }
  return { guard, flow, route };
}

/** Returns the route at a path of the host, if the login is one of its own. */
export function routeOf(site: LoginSite, guard: Guard, path: string, host: string): LoginRoute | undefined {
  const { pathname = "/" } = URL.parse(path, "https://host.invalid") ?? {};
  for (const one of site.members ?? [site]) {
    const route = one.findRoute(pathname, host);
    if (route?.id === guard.options.ownerId && guardsIn(route).includes(guard)) return route;
  }
  return undefined;
}

/** Returns the logins of a route, in the order in which they apply. */
export function guardsIn(route: LoginRoute | undefined): readonly Guard[] {
  return (route?.request ?? []).flatMap(({ logins = [] }) => logins).filter((one) => one instanceof Guard);
}

/**
 * The modules that precede the login on its route decide here as well: a refused address cannot log in.
 *
 * @param path the visitor's destination; the modules decide as if it were requested now
 */
export async function runEarlierModules(
  route: LoginRoute,
  guard: Guard,
  exchange: Exchange,
  path: string,
): Promise<Step | undefined> {
  const visit = asVisit(exchange, path);
  for (const module of route.request) {
    if (module.logins?.includes(guard) === true) return await module.beforeLogin?.(guard, visit);
    const step = await (module.rehearse ?? module.request)?.call(module, visit);
    if (step?.answer) return step;
    if (step) exchange.steps.push(step);
  }
  return undefined;
}

/** Adds the session here, and waits a moment until the control plane has stored it. */
async function storeSession(record: SessionRecord, exchange: Exchange, context: LoginContext): Promise<Session> {
  const { sessions, settings, reports, end } = context;
  const { accountId, host } = record;
  if (sessions.of(accountId) >= settings.maxSessions) {
    const idle = sessions.longestIdle(accountId);
    if (idle) end(idle, "crowded_out");
  }
  const session = sessions.put(record);
  await reports.login(record, {
    userAgent: (exchange.request.headers.get("user-agent") ?? "").slice(0, 1024),
    address: exchange.connection.source,
    publicUrl: originOf(host, settings.httpsPort()),
  });
  return session;
}

/** The person must confirm the client within this time, milliseconds. */
const consentMs = 10 * 60_000;

/**
 * A login for a client that is not a browser. The browser gets no cookie. The login is usable when the person has
 * confirmed the client and the client has a token.
 */
async function establishForClient(
  guard: Guard,
  record: SessionRecord,
  authorization: string,
  exchange: Exchange,
  context: LoginContext,
  cookies: readonly string[],
): Promise<Step> {
  const { accountId, method } = guard.options;
  const { settings, sealer } = context;
  const { loginAt, endsAt = 0, identity } = record;
  const consentUntil = loginAt + consentMs;
  const pending = {
    ...record,
    grant: makePendingGrant(endsAt),
    endsAt: endsAt > 0 ? Math.min(endsAt, consentUntil) : consentUntil,
  };
  await storeSession(pending, exchange, context);
  const ticket = sealTicket(
    { authorization, sessionId: record.id, accountId, shownAs: identity.email || identity.name || identity.subject },
    loginAt,
    sealer,
  );
  const url = new URL(`/oauth/${accountId}/consent`, originOf(settings.idpHost, settings.httpsPort()));
  url.searchParams.set("ticket", ticket);
  const reason = `${method.title} returned ${identity.subject}; session ${record.id} waits for a client's confirmation`;
  return answerStep(method.kind, reason, answerRedirect(303, url.href, cookies));
}

export async function establishSession(
  guard: Guard,
  flow: Pick<Flow, "id" | "returnPath" | "tries" | "authorization">,
  { identity: told, tokens, scopes, endsAt = 0 }: LoggedIn,
  exchange: Exchange,
  context: LoginContext,
): Promise<Step> {
  const { method, realm, lists, accountId, siteId, ownerId } = guard.options;
  const { clock, sessions, settings, reports, end, tell } = context;
  const { host } = exchange.request;
  const flows = [dropCookie(flowCookieName(realm.flowCookie, flow.id))];
  const identity = tidyIdentity(told);
  const verdict = judgeIdentity(lists, identity);
  if (!verdict.admits) {
    const errorName = refuseFor(verdict, identity, method, scopes);
    const answer = guard.refusal(exchange, errorName, identity.email || identity.username, flow.returnPath);
    const reason = `${method.title} says ${identity.subject}: ${verdict.reason}${scopesNote(method.scopes, scopes)}`;
    tell("login_refused.v0", accountId, () =>
      makeRefusedLogin({ exchange, errorName, reason, place: guard, identity }),
    );
    return turnAway(method.kind, reason, { ...answer, headers: { ...answer.headers, "set-cookie": flows } });
  }
  const now = clock.now();
  const cookie = newSessionCookie();
  const keeps = guard.options.checkInterval > 0 || method.forwardsTokens;
  const record: SessionRecord = {
    id: newId("appses", now),
    accountId,
    userId: newId("appusr", now),
    cookieHash: cookieHash(cookie),
    realm: realm.tag,
    cookiePrefix: realm.cookiePrefix,
    host,
    siteId,
    routeId: ownerId,
    providerName: method.title,
    providerUrl: method.url,
    clientId: method.clientId,
    loginAt: now,
    lastActive: now,
    checkedAt: now,
    // Providers name scopes differently, so the session counts as having each requested scope.
    scopes: [...new Set([...method.scopes, ...scopes])],
    identity,
    accessToken: keeps ? tokens.access : "",
    refreshToken: keeps ? tokens.refresh : "",
    idToken: method.logout ? tokens.id : "",
    maximumDuration: guard.options.maximumDuration,
    inactivityTimeout: guard.options.inactivityTimeout,
    ...(endsAt > 0 && { endsAt }),
  };
  if (flow.authorization) return await establishForClient(guard, record, flow.authorization, exchange, context, flows);
  const before = loginCookie(exchange.loginCookies, realm.sessionCookie);
  const replaced = before !== undefined && isSessionCookie(before) ? sessions.find(before) : undefined;
  if (replaced && guard.isOwn(replaced.record)) end(replaced, "replaced", exchange);
  const origin = originOf(host, settings.httpsPort());
  const session = await storeSession(record, exchange, context);
  const seconds = guard.options.maximumDuration || settings.idleDays * 86_400;
  const longest = endsAt > 0 ? Math.min(seconds, (endsAt - now) / 1000) : seconds;
  const cookies = [
    ...flows,
    triesCookie(guard, context, host, flow.tries + 1),
    setCookie(realm.sessionCookie, cookie, longest),
  ];
  const reason = `${method.title} returned ${identity.subject}: ${verdict.reason}; session ${record.id}${scopesNote(method.scopes, scopes)}`;
  // The control plane may have determined the user meanwhile.
  const isStored = !reports.isUnstored(record.id);
  tell("login_completed.v0", accountId, () => makeCompletedLogin(exchange, session.record, verdict.reason, isStored));
  return answerStep(method.kind, reason, answerRedirect(303, origin + flow.returnPath, cookies));
}
