/** Requires a login on a route. A request costs one hash, one look-up and one cached verdict. */
import { resumeMark, captureWork } from "../../lib/heartbeat.ts";
import { FieldBlock } from "../../lib/field-block.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { loginCookie } from "../../traffic/login.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { DescribedVisitor, Visitor, VisitorSession } from "../../traffic/visitor.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import { answerStep, changeStep, passStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { AssertionPlace, RouteClaims } from "./assertions.ts";
import { beginLogin, describeDestination } from "./begin.ts";
import type { LoginContext } from "./login-context.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Identity, LoginRefusalName } from "../calls/identity.ts";
import { makeRefusedLogin } from "../sessions/login-events.ts";
import type { MachineClients } from "../../traffic/machine-clients.ts";

import { refusalAnswer } from "../browser/login-pages.ts";

import { makeIdentity, sessionOfVisitor } from "./described-visitor.ts";
import { machineSession, titleOfMachine } from "./machine-session.ts";
import { recheckSession } from "./recheck.ts";
import { challengeAnswer, findMissingScopes, tokenFault } from "./bearer.ts";
import type { Challenge } from "./bearer.ts";
import { expiresAt } from "../sessions/session-records.ts";
import { requestKind, wantsPage } from "../browser/request-kind.ts";
import { pathOfRequest } from "../browser/return-path.ts";
import type { Grant } from "../sessions/grant.ts";
import { toolCallIn } from "../../traffic/scope-rules.ts";
import type { ToolCall } from "../../traffic/scope-rules.ts";
import { cookieHash, isAccessToken, isSessionCookie } from "../sessions/login-session.ts";
import type { KeptAssertion, Session, SessionRecord } from "../sessions/login-session.ts";
import { originOf } from "../browser/login-settings.ts";
import { turnAway } from "../browser/turn-away.ts";
import { groupsNamed, upstreamFields } from "./upstream-fields.ts";
import { isServiceToken } from "../sessions/service-tokens.ts";
import type { PresentedToken } from "../sessions/service-tokens.ts";
import { judgeIdentity } from "../sessions/login-verdict.ts";
import type { Verdict } from "../sessions/login-verdict.ts";
import { dayMs } from "../../lib/durations.ts";
import { isEndpointId } from "../../lib/ids.ts";
import type { GuardOptions } from "./guard-options.ts";

/** Maximum size of a call that scope rules read. */
const maxCallBytes = 1024 * 1024;
const wellFormedButUnknown = "the session is unknown here";
const unknownMachine = "there is no such service token";

export class Guard implements CompiledModule, LoginGuard, AssertionPlace {
  readonly logins: readonly LoginGuard[];
  readonly options: GuardOptions;
  readonly #context: LoginContext;
  readonly #passedOptions: Step;

  constructor(options: GuardOptions, context: LoginContext) {
    this.options = options;
    this.#context = context;
    this.logins = Object.freeze([this]);
    this.#passedOptions = passStep(options.method.kind, "OPTIONS passes without a login and without an identity");
  }

  request(exchange: Exchange): Step | Promise<Step> {
    const { options } = this;
    if (options.optionsPassthrough && exchange.request.method === "OPTIONS") return this.#passedOptions;
    const cookie = this.#proofOf(exchange);
    if (isServiceToken(cookie)) return this.#admitMachine(exchange, this.#context.serviceTokens.find(cookie));
    const session = this.#context.sessions.find(cookie);
    if (session !== undefined) return this.#admit(exchange, session);
    return isSessionCookie(cookie) || isAccessToken(cookie)
      ? this.#lookElsewhere(exchange, cookie)
      : this.#turnAway(exchange, "no session");
  }

  /** The access token, if clients that are not browsers are admitted; otherwise the cookie. */
  #proofOf(exchange: Exchange): string {
    if (exchange.accessToken !== undefined && this.options.machines !== undefined) return exchange.accessToken;
    const cookie = loginCookie(exchange.loginCookies, this.options.realm.sessionCookie);
    // An access token in a cookie would pass where scripts of other sites can send requests.
    return cookie === undefined || isAccessToken(cookie) || isServiceToken(cookie) ? "" : cookie;
  }

  /** Decides like `request`, but changes no session and asks no one except for the provider's metadata. */
  rehearse(exchange: Exchange): Step | Promise<Step> {
    const { method } = this.options;
    if (method.url !== "" || method.known === undefined) return this.#rehearsed(exchange);
    return this.#onceKnown(exchange, method.known(), () => this.#rehearsed(exchange));
  }

  #rehearsed(exchange: Exchange): Step | Promise<Step> {
    const { options } = this;
    if (options.optionsPassthrough && exchange.request.method === "OPTIONS") return this.#passedOptions;
    const { host } = exchange.request;
    const { rehearsedAs } = exchange;
    const cookie = this.#proofOf(exchange);
    const machine = this.#machineIn(exchange, cookie);
    if (machine !== undefined) return this.#rehearseMachine(exchange, machine);
    if (isServiceToken(cookie)) return this.#refuse(exchange, "program", unknownMachine);
    const place = { accountId: options.accountId, realm: options.realm.tag, host };
    const session = rehearsedAs
      ? sessionOfVisitor(rehearsedAs, place, this.#context)
      : this.#context.sessions.find(cookie);
    const unknown = isSessionCookie(cookie) || isAccessToken(cookie) ? wellFormedButUnknown : "no session";
    const why = session ? this.faultOf(session, host) : unknown;
    if (rehearsedAs && (session === undefined || why !== undefined)) return this.#rehearseLogin(exchange, rehearsedAs);
    if (session === undefined || why !== undefined) {
      const kind = this.#kindOf(exchange);
      if (kind !== "navigation") return this.#refuse(exchange, kind, why ?? "no session");
      const answer = { status: 302, headers: { "cache-control": "no-store" }, body: "" };
      return answerStep(
        options.method.kind,
        `${why}: ${describeDestination(this, this.#context)}`,
        answer,
        this.#decidedBy,
      );
    }
    const verdict = this.verdictOf(session);
    if (!verdict.admits) return this.#unlisted(exchange, session, verdict);
    const lacking = this.#lacksScope(exchange, session);
    const passed = (): Step => {
      this.#describe(exchange, session.record.identity, session);
      return this.#passedStep(session, verdict);
    };
    if (lacking instanceof Promise) return lacking.then(resumeMark((step: Step | undefined) => step ?? passed()));
    return lacking ?? passed();
  }

  /** The machine whose token the request has, or as which it is described. */
  #machineIn({ rehearsedAs }: Exchange, proof: string): PresentedToken | undefined {
    const { serviceTokens } = this.#context;
    if (rehearsedAs === undefined) return isServiceToken(proof) ? serviceTokens.find(proof) : undefined;
    return rehearsedAs.email === "" && this.options.machines !== undefined
      ? serviceTokens.byId(rehearsedAs.id)
      : undefined;
  }

  #rehearseMachine(exchange: Exchange, token: PresentedToken): Step | Promise<Step> {
    const refused = this.#refusedMachine(exchange, token);
    if (refused !== undefined) return refused;
    const session = machineSession(this, token, exchange.request.host, this.#context.clock);
    const passed = (): Step => {
      this.#describe(exchange, session.record.identity, session);
      return this.#passedStep(session, this.verdictOf(session));
    };
    const lacking = this.#lacksScope(exchange, session);
    if (lacking instanceof Promise) return lacking.then(resumeMark((step: Step | undefined) => step ?? passed()));
    return lacking ?? passed();
  }

  /** Admits a machine by the ACL of its token. The lists of the login are about people. */
  #admitMachine(exchange: Exchange, token: PresentedToken | undefined): Step | Promise<Step> {
    if (token === undefined) return this.#refuse(exchange, "program", unknownMachine);
    const refused = this.#refusedMachine(exchange, token);
    if (refused !== undefined) return refused;
    this.#context.serviceTokens.use(token);
    return this.#judged(exchange, machineSession(this, token, exchange.request.host, this.#context.clock), token);
  }

  #refusedMachine(exchange: Exchange, token: PresentedToken): Step | undefined {
    const { machine, record } = token;
    if (record.accountId !== this.options.accountId) return this.#refuse(exchange, "program", unknownMachine);
    const title = titleOfMachine(machine);
    if (token.ended || token.isBeyond(this.#context.clock)) {
      return this.#refuse(exchange, "program", `${title} has expired`);
    }
    const { host, path } = exchange.request;
    if (machine.reaches(this.options.ownerId, host, path)) return undefined;
    const shown = { requestId: exchange.id, provider: this.options.method.title, asPage: false };
    const answer = refusalAnswer("service_token_unlisted", shown);
    return turnAway(this.options.method.kind, `${title} does not name this place in its acl`, answer, this.#decidedBy);
  }

  /** Decides as for a new login: the verdict of the lists, and the fields that the service would receive. */
  #rehearseLogin(exchange: Exchange, visitor: DescribedVisitor): Step {
    const { lists, method } = this.options;
    const identity = makeIdentity(visitor);
    const { admits, reason, errorName = "login_not_listed" } = judgeIdentity(lists, identity);
    const why = `as ${visitor.email}, after a login with ${method.title}: ${reason}`;
    if (!admits) return this.#answer(exchange, errorName, why, visitor.email);
    this.#describe(exchange, identity, undefined);
    return changeStep(method.kind, why);
  }

  /** The visitor as rules and the service would see it, without tokens. */
  #describe(exchange: Exchange, identity: Identity, session: Session | undefined): void {
    exchange.login = this.#visitorOf(identity, session);
    const fields = upstreamFields(this.options.lists, identity, undefined);
    for (let at = 0; at < fields.length; at += 2) {
      exchange.request.headers.append(fields[at] as string, fields[at + 1] as string);
    }
  }

  /**
   * Whether this login made the session. A realm's tag is short enough to collide, and the host may have belonged to
   * another account.
   */
  isOwn({ realm, accountId }: Pick<SessionRecord, "realm" | "accountId">): boolean {
    return realm === this.options.realm.tag && accountId === this.options.accountId;
  }

  /** Why the session is invalid for a host of this route; undefined if it is valid. */
  faultOf(session: Session, host: string): string | undefined {
    const { options } = this;
    const { clock, settings } = this.#context;
    const { record } = session;
    if (session.ended) return "the session has expired";
    if (record.realm !== options.realm.tag || record.host !== host) return "the session belongs to another place";
    if (record.grant !== undefined) {
      const fault = tokenFault(session, record.grant, options, host, clock);
      if (fault !== undefined) return fault;
    }
    // The cookie could be sent under another name. Sessions from older versions do not record their prefix.
    const { cookiePrefix } = options.realm;
    if (record.cookiePrefix !== undefined && record.cookiePrefix !== cookiePrefix)
      return "the session belongs to another cookie prefix";
    if (!this.isOwn(record)) return "the session belongs to another account";
    const { maximumDuration, inactivityTimeout, method } = options;
    if (record.clientId !== method.clientId) return "the session was created with another client";
    if (record.providerUrl !== method.url) return "the session was created with another provider";
    if (maximumDuration > 0 && session.age(clock) >= maximumDuration * 1000)
      return "the session has reached its maximum duration";
    if (session.isBeyond(clock)) return "the provider's session has ended";
    const idle = session.idle(clock);
    if (inactivityTimeout > 0 && idle >= inactivityTimeout * 1000) return "the session was inactive for too long";
    if (idle >= settings.idleDays * dayMs) return `the session was unused for ${settings.idleDays} days`;
    for (const scope of method.scopes)
      if (!record.scopes.includes(scope)) return "the session was created with fewer scopes";
    return undefined;
  }

  /** The verdict of the route's lists, computed once per session and configuration. */
  verdictOf(session: Session): Verdict {
    if (session.judgedBy !== this || session.verdict === undefined) {
      session.verdict = judgeIdentity(this.options.lists, session.record.identity);
      session.judgedBy = this;
      session.passedStep = undefined;
      session.fields = undefined;
    }
    return session.verdict;
  }

  async #lookElsewhere(exchange: Exchange, cookie: string): Promise<Step> {
    const inSameWork = captureWork();
    const { reports, sessions, isEnded } = this.#context;
    const found = inSameWork(await reports.wanted(this.options.accountId, cookieHash(cookie)));
    const session = sessions.find(cookie) ?? (found && !isEnded(found.id) ? sessions.put(found) : undefined);
    return session === undefined
      ? inSameWork(await this.#turnAway(exchange, wellFormedButUnknown))
      : inSameWork(await this.#admit(exchange, session));
  }

  #admit(exchange: Exchange, session: Session): Step | Promise<Step> {
    const { method } = this.options;
    if (method.url === "" && method.known !== undefined) {
      return this.#onceKnown(exchange, method.known(), () => this.#admitKnown(exchange, session));
    }
    return this.#admitKnown(exchange, session);
  }

  /**
   * Until the provider's metadata is known, sessions cannot be matched to it, so sessions of another provider are
   * refused.
   */
  async #onceKnown(exchange: Exchange, known: Promise<unknown>, goOn: () => Step | Promise<Step>): Promise<Step> {
    const inSameWork = captureWork();
    try {
      inSameWork(await known);
    } catch (error) {
      if (!(error instanceof LoginRefusal)) throw error;
      if (this.options.method.url === "") return this.#answer(exchange, error.reason, error.message);
    }
    return await goOn();
  }

  #admitKnown(exchange: Exchange, session: Session): Step | Promise<Step> {
    const fault = this.faultOf(session, exchange.request.host);
    if (fault !== undefined) return this.#turnAway(exchange, fault);
    const { checkInterval } = this.options;
    if (checkInterval > 0 && session.sinceCheck(this.#context.clock) >= checkInterval * 1000) {
      return this.#checked(exchange, session);
    }
    return this.#judged(exchange, session);
  }

  async #checked(exchange: Exchange, session: Session): Promise<Step> {
    const inSameWork = captureWork();
    const { options } = this;
    const outcome = inSameWork(await recheckSession(session, options.method, options.checkInterval, this.#context));
    if (outcome === "unchecked") {
      return this.#answer(exchange, "login_unchecked", "the provider has not answered for too long");
    }
    if (outcome === "ended") return await this.#turnAway(exchange, "the provider has revoked the login");
    return await this.#judged(exchange, session);
  }

  /** @param proof ends the request when it ends: the session, or the token of a machine */
  #judged(exchange: Exchange, session: Session, proof = session): Step | Promise<Step> {
    const verdict = this.verdictOf(session);
    if (!verdict.admits) {
      this.#tellUnlisted(exchange, session, verdict);
      return this.#unlisted(exchange, session, verdict);
    }
    const lacking = this.#lacksScope(exchange, session);
    if (lacking instanceof Promise) {
      return lacking.then(
        resumeMark((step: Step | undefined) => {
          if (step !== undefined) return step;
          // The session can end while the body arrives.
          return proof.ended
            ? this.#turnAway(exchange, "the session has expired")
            : this.#admitted(exchange, session, verdict, proof);
        }),
      );
    }
    return lacking ?? this.#admitted(exchange, session, verdict, proof);
  }

  #admitted(exchange: Exchange, session: Session, verdict: Verdict, proof: Session): Step | Promise<Step> {
    const { clock, open, assertions } = this.#context;
    session.touch(clock);
    open.add(exchange, proof, proof === session ? this.#endsAfter(session) : 0);
    exchange.login = session.visitor ??= this.#visitorOf(session.record.identity, session);
    const assertion = assertions.of(session, this);
    if (assertion instanceof Promise) {
      return assertion.then(
        resumeMark((kept) => {
          exchange.request.headers.appendBlock(this.#blockOf(session, kept));
          return this.#passedStep(session, verdict);
        }),
      );
    }
    exchange.request.headers.appendBlock(this.#blockOf(session, assertion));
    return this.#passedStep(session, verdict);
  }

  get ownerId(): string {
    return this.options.ownerId;
  }

  claimsFor({ record: { host, identity } }: Session): RouteClaims {
    const { settings } = this.#context;
    const port = settings.httpsPort();
    const groups = groupsNamed(this.options.lists, identity);
    return { issuer: originOf(settings.idpHost, port), audience: originOf(host, port), groups };
  }

  /** Header fields for the service, rebuilt when the session or its assertion changes. */
  #blockOf(session: Session, assertion: KeptAssertion | undefined): FieldBlock {
    const fields = (session.fields ??= this.#fieldsOf(session));
    if (assertion === undefined) return new FieldBlock(fields);
    if (assertion.block === undefined || assertion.blockOf !== fields) {
      assertion.block = new FieldBlock([...fields, "postern-assertion", assertion.text]);
      assertion.blockOf = fields;
    }
    return assertion.block;
  }

  #visitorOf({ subject, email, emailVerified, name, memberships }: Identity, session: Session | undefined): Visitor {
    const { method, authId } = this.options;
    const { kind, clientId } = method;
    const visitor = { module: kind, clientId, subject, email, emailVerified, name };
    if (authId === undefined) return visitor;
    return { ...visitor, groups: memberships, ...(session && { session: this.#readable(session) }) };
  }

  /** The session in the form that policy rules read. */
  #readable(session: Session): VisitorSession {
    const { id, userId, accessToken, refreshToken, idToken, loginAt, checkedAt } = session.record;
    const { maximumDuration, inactivityTimeout, method } = this.options;
    const { idleDays } = this.#context.settings;
    const has = (token: string): string => (method.forwardsTokens ? token : "");
    return {
      id,
      userId,
      accessToken: has(accessToken),
      refreshToken: has(refreshToken),
      idToken: has(idToken),
      loginAt,
      checkedAt,
      get endsAt() {
        const { record, lastActive } = session;
        return expiresAt({ ...record, lastActive, maximumDuration, inactivityTimeout }, idleDays);
      },
    };
  }

  #fieldsOf({ record: { identity, accessToken, refreshToken } }: Session): readonly string[] {
    const { lists, method } = this.options;
    return upstreamFields(
      lists,
      identity,
      method.forwardsTokens ? { access: accessToken, refresh: refreshToken } : undefined,
    );
  }

  #passedStep(session: Session, { reason }: Verdict): Step {
    return (session.passedStep ??= changeStep(this.options.method.kind, `session ${session.record.id}: ${reason}`));
  }

  /** The age of the session at which open requests end, milliseconds; 0 for never. */
  #endsAfter({ record: { grant, loginAt } }: Session): number {
    const { machines, maximumDuration } = this.options;
    const ofSession = maximumDuration * 1000;
    if (grant === undefined || machines === undefined) return ofSession;
    const ofToken = grant.issuedAt - loginAt + machines.accessTokenMinutes * 60_000;
    return ofSession > 0 ? Math.min(ofSession, ofToken) : ofToken;
  }

  /** Returns the refusal of a request whose token lacks a scope. Reads the body only for rules about it. */
  #lacksScope(exchange: Exchange, { record: { grant } }: Session): Step | undefined | Promise<Step | undefined> {
    const { machines } = this.options;
    if (grant === undefined || machines === undefined) return undefined;
    if (!machines.readsBody) return this.#lacking(exchange, grant, machines, undefined);
    return exchange
      .body(maxCallBytes)
      .then(resumeMark((body: Buffer) => this.#lacking(exchange, grant, machines, toolCallIn(body))));
  }

  #lacking(exchange: Exchange, grant: Grant, machines: MachineClients, call: ToolCall | undefined): Step | undefined {
    const missing = findMissingScopes(grant, machines, {
      method: exchange.request.method,
      path: exchange.request.path,
      call,
    });
    if (missing.length === 0) return undefined;
    const scope = [...new Set([...grant.scopes, ...missing])].join(" ");
    const why = `the token of "${grant.name}" lacks the scope ${missing.join(" ")}`;
    return this.#challenge(exchange, why, { errorName: "token_scope_missing", error: "insufficient_scope", scope });
  }

  #challenge(exchange: Exchange, why: string, challenge: Challenge): Step {
    const answer = challengeAnswer(exchange, challenge, this.options, this.#context);
    return turnAway(this.options.method.kind, why, answer, this.#decidedBy);
  }

  /** Many programs accept anything. A browser that opens a page asks for HTML. */
  #kindOf({ request }: Exchange): ReturnType<typeof requestKind> {
    const kind = requestKind(request);
    return kind === "navigation" && this.options.machines !== undefined && !wantsPage(request) ? "program" : kind;
  }

  #turnAway(exchange: Exchange, why: string): Step | Promise<Step> {
    const kind = this.#kindOf(exchange);
    if (kind === "program" || (exchange.accessToken !== undefined && this.options.machines !== undefined)) {
      return this.#refuse(exchange, "program", why);
    }
    if (kind !== "navigation" || exchange.request.scheme !== "https") return this.#refuse(exchange, kind, why);
    const { path, query } = exchange.request;
    return beginLogin(this, this.#context, exchange, { returnPath: pathOfRequest(path, query), why });
  }

  /** Answers 401 to every request that cannot be redirected to a login. */
  #refuse(exchange: Exchange, kind: ReturnType<typeof requestKind>, why: string): Step {
    const { settings } = this.#context;
    const { request } = exchange;
    const { method, machines } = this.options;
    const { title } = method;
    if (machines !== undefined && kind === "program") {
      const isWrong = exchange.accessToken !== undefined;
      const scope = machines.scopes[0] ?? "";
      return this.#challenge(exchange, why, {
        errorName: isWrong ? "token_invalid" : "token_required",
        ...(isWrong && { error: "invalid_token" }),
        scope,
      });
    }
    const origin = originOf(request.host, settings.httpsPort());
    const isGet = request.method === "GET" || request.method === "HEAD";
    const back = isGet ? pathOfRequest(request.path, request.query) : "/";
    const path = this.#loginPath(back);
    const challenge = { "www-authenticate": `Login url="${origin}${path}"` };
    const target = kind === "form" ? ("_blank" as const) : ("_top" as const);
    const asPage = kind === "form" || kind === "framed";
    const answer = refusalAnswer(
      kind === "form" ? "login_form" : "login_required",
      {
        requestId: exchange.id,
        provider: title,
        asPage,
        inFrame: kind === "framed",
        links: [{ text: "Log in", href: path, target }],
        details: { login_url: origin + path },
      },
      challenge,
    );
    return turnAway(this.options.method.kind, why, answer, this.#decidedBy);
  }

  #unlisted(exchange: Exchange, session: Session, verdict: Verdict): Step {
    const { identity } = session.record;
    return this.#answer(
      exchange,
      verdict.errorName ?? "login_not_listed",
      `session ${session.record.id}: ${verdict.reason}`,
      identity.email || identity.username,
    );
  }

  /** Reports each verdict once, however many requests it refuses. */
  #tellUnlisted(exchange: Exchange, session: Session, verdict: Verdict): void {
    if (session.toldOf === verdict) return;
    session.toldOf = verdict;
    const { errorName = "login_not_listed", reason } = verdict;
    const { record } = session;
    const refused = { exchange, errorName, reason, place: this, identity: record.identity, session: record };
    this.#context.tell("login_refused.v0", this.options.accountId, () => makeRefusedLogin(refused));
  }

  #answer(exchange: Exchange, errorName: LoginRefusalName, why: string, signedInAs?: string): Step {
    return turnAway(this.options.method.kind, why, this.refusal(exchange, errorName, signedInAs), this.#decidedBy);
  }

  /** The page for a refused visitor. */
  refusal(exchange: Exchange, errorName: LoginRefusalName, signedInAs?: string, back?: string) {
    const { request, id } = exchange;
    const path = this.#loginPath(back ?? pathOfRequest(request.path, request.query));
    return refusalAnswer(errorName, {
      requestId: id,
      provider: this.options.method.title,
      ...(signedInAs !== undefined && signedInAs !== "" && { signedInAs }),
      asPage: wantsPage(request),
      links: [{ text: "Use another account", href: `${path}&prompt=select_account` }],
    });
  }

  /** A route may have several logins by rules, so the path names the login. */
  #loginPath(back: string): string {
    const { authId, realm } = this.options;
    return `/.postern/login?${authId === undefined ? "" : `realm=${realm.tag}&`}path=${encodeURIComponent(back)}`;
  }

  get #decidedBy(): { readonly kind: string; readonly id: string; readonly revision: number } {
    const { ownerId, revision } = this.options;
    return { kind: isEndpointId(ownerId) ? "endpoint" : "https_edge_route", id: ownerId, revision };
  }
}
