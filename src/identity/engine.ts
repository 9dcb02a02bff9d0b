/** Logins on an edge: what modules compile to, the paths that the edge owns for them, and the records behind both. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { Lru } from "../lib/collections/lru.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { PackedObjects } from "../schema/packed.ts";
import type { CompiledModule, Scope } from "../traffic/module.ts";
import { makeAssertions } from "./guard/assertions.ts";
import type { Connection } from "./calls/connection.ts";
import type { LoginJobs } from "./jobs/jobs.ts";
import { makeJobThread } from "./jobs/thread.ts";
import { changingMethod } from "./methods/changing-method.ts";
import type { CurrentClient } from "./methods/changing-method.ts";
import { codeMethod } from "./methods/code-method.ts";
import type { LoginContext, LoginSite, RoutePath } from "./guard/context.ts";
import { endedLogin } from "./sessions/events.ts";
import type { TellLogin } from "./sessions/events.ts";
import { makeLoginGate } from "./guard/gate.ts";
import { Guard } from "./guard/guard.ts";
import { makeHostPaths } from "./visits/host-paths.ts";
import type { HostPaths } from "./visits/host-paths.ts";
import { makeIdpSite } from "./visits/idp-site.ts";
import type { IdpPath } from "./visits/idp-site.ts";
import type { LoginMethod } from "./methods/method.ts";
import { makeOpenExchanges } from "./sessions/open-exchanges.ts";
import { issuerTag, realmOf } from "./browser/realm.ts";
import { loginKeyKind, metadataKind, recordOf, sessionKind } from "./sessions/records.ts";
import { makeLoginReports } from "./sessions/reports.ts";
import type { LoginReport, LoginReports } from "./sessions/reports.ts";
import { makeFlowSealer } from "./browser/sealing.ts";
import { makeServerKeys } from "./guard/server-keys.ts";
import type { ServerKeys } from "./guard/server-keys.ts";
import { makeSessions } from "./sessions/sessions.ts";
import type { LoginSettings } from "./browser/settings.ts";
import { endTimedOut } from "./visits/time-outs.ts";
import { everybody } from "./sessions/verdict.ts";
import type { Lists } from "./sessions/verdict.ts";

export interface LoginRouteConfig {
  readonly cookiePrefix: string;
  readonly optionsPassthrough: boolean;
  readonly inactivityTimeout: number;
  readonly maximumDuration: number;
  /** Seconds, as the two above; 0: never. */
  readonly checkInterval: number;
  readonly lists?: Lists;
  /** Of a rule of a policy, "" where it names none; absent for a module. */
  readonly authId?: string;
}

export interface CodeLoginConfig extends LoginRouteConfig {
  /** Its client counts for nothing where there is `client`. */
  readonly connection: Connection;
  /** Which client is used now, where that may change; undefined where that cannot be found out. */
  readonly client?: CurrentClient | undefined;
  /** More parameters of the address to which visitors are sent. */
  readonly authorizeParameters?: Readonly<Record<string, string>>;
  readonly forwardsTokens: boolean;
  readonly neededScopes: readonly string[];
}

export interface Logins {
  readonly settings: LoginSettings;
  /** For other methods. */
  readonly context: LoginContext;
  /** The guard of a route whose visitors log in with OAuth or OpenID Connect. */
  codeLogin(config: CodeLoginConfig, scope: Scope): Guard;
  /** The guard of a route whose visitors log in by another method. */
  guard(method: LoginMethod, provider: string, config: LoginRouteConfig, scope: Scope): Guard;
  readonly hostPaths: HostPaths;
  /** Answers on the login host. */
  readonly idp: CompiledModule;
  readonly reports: LoginReports;
  /** The account that has what is the whole server's, such as these keys; undefined before they are there. */
  readonly serverAccountId: string | undefined;
  /** Puts into effect what the control plane has stored; everything, or what has changed. */
  load(objects: Iterable<ResourceObject>, sessions: readonly PackedObjects[]): void;
  change(
    changes: readonly { readonly kind: string; readonly id: string; readonly object: ResourceObject | null }[],
  ): void;
  close(): void;
}

export interface LoginsOptions {
  readonly settings: LoginSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly send: (report: LoginReport) => void;
  readonly tell: TellLogin;
  readonly siteFor: (host: string) => LoginSite | undefined;
  readonly placeOf: (routeId: string) => RoutePath | undefined;
  /** Who calls providers: a thread of its own unless given. */
  readonly jobs?: LoginJobs & { close(): void };
  /** Paths that other methods need on the login host. */
  readonly idpPaths?: readonly IdpPath[];
}

/** Kinds of objects that are for logins alone: they are kept here and nowhere else on the edge. */
export const loginKinds: ReadonlySet<string> = new Set([sessionKind, loginKeyKind, metadataKind]);

const activityMs = 30_000;
const maxUsed = 100_000;
const maxEnded = 10_000;

export function makeLogins(options: LoginsOptions): Logins {
  const { settings, clock, log, metrics, send, tell, siteFor, placeOf } = options;
  const reports = makeLoginReports(send, clock, settings.isShared);
  const jobs = options.jobs ?? jobThreadFor(settings, log);
  const open = makeOpenExchanges(clock);
  /** Ended here: a control plane that has not heard of it yet does not bring it back. */
  const endedHere = new Lru<string, string>(maxEnded);
  const sessions = makeSessions(clock, () => queueMicrotask(open.sweep));
  const keys = makeServerKeys(makeFlowSealer(), makeAssertions(jobs, clock));
  const context: LoginContext = {
    settings,
    clock,
    log,
    sessions,
    sealer: keys.sealer,
    jobs,
    assertions: keys.assertions,
    samlSigning: keys.samlSigning,
    reports,
    open,
    gate: makeLoginGate(),
    used: new Lru(maxUsed),
    siteFor,
    placeOf,
    isEnded: (id) => endedHere.size > 0 && endedHere.get(id) !== undefined,
    end(session, why, exchange) {
      const { id, accountId } = session.record;
      const isStored = !reports.isUnstored(id);
      if (!session.ended) tell("login_ended.v0", accountId, () => endedLogin(session, why, exchange, isStored));
      endedHere.set(id, accountId);
      sessions.end(id);
      reports.logout(accountId, [id]);
    },
    tell,
  };
  const idp = makeIdpSite(context, options.idpPaths ?? []);
  const activity = clock.every(activityMs, () => reports.activity(sessions.takeActivity()));
  const stopEnding = endTimedOut(context);
  metrics.gauge("postern_login_sessions", "Active logins.", () => sessions.size);

  const guard: Logins["guard"] = (...given) => guardIn(context, ...given);
  return {
    settings,
    context,
    codeLogin({ connection, client, authorizeParameters = {}, forwardsTokens, neededScopes, ...config }, scope) {
      const { accountId } = scope;
      const now = (): number => clock.monotonic();
      const shared = { accountId, authorizeParameters, forwardsTokens, neededScopes, jobs, settings, now };
      const methodOf = (one: Connection): LoginMethod => codeMethod({ connection: one, ...shared });
      const follow = (one: Connection): void => {
        if (one.kind === "oidc") idp.follows(issuerTag(accountId, one.issuer), accountId, one);
      };
      if (!client) follow(connection);
      const method = client ? changingMethod(connection, client, methodOf, follow) : methodOf(connection);
      return guard(method, connection.provider || connection.issuer, config, scope);
    },
    guard,
    hostPaths: makeHostPaths(context),
    idp: idp.module,
    reports,
    get serverAccountId() {
      return keys.accountId();
    },
    ...followStored(context, keys),
    close() {
      activity.cancel();
      stopEnding();
      reports.activity(sessions.takeActivity());
      open.stop();
      sessions.stop();
      jobs.close();
    },
  };
}

/** Puts into effect what the control plane has stored of logins. */
function followStored({ sessions, reports, isEnded }: LoginContext, keys: ServerKeys): Pick<Logins, "load" | "change"> {
  return {
    load(objects, parts) {
      const ofKeys: ResourceObject[] = [];
      for (const object of objects) if (object.kind === loginKeyKind) ofKeys.push(object);
      keys.load(ofKeys);
      sessions.load(
        parts,
        (session) => reports.isUnstored(session.record.id),
        (accountId, id) => {
          const isOver = isEnded(id);
          if (isOver) reports.logout(accountId, [id]);
          return isOver;
        },
      );
      reports.again();
    },
    change(changes) {
      const ofKeys = new Map<string, ResourceObject | null>();
      for (const { kind, id, object } of changes) {
        if (kind === loginKeyKind) ofKeys.set(id, object);
        else if (kind === sessionKind) {
          const record = object ? recordOf(object) : undefined;
          if (record && !isEnded(record.id)) sessions.put(record);
          else if (!object) sessions.end(id);
        }
      }
      if (ofKeys.size > 0) keys.change(ofKeys);
    },
  };
}

function guardIn(context: LoginContext, ...[method, provider, config, scope]: Parameters<Logins["guard"]>): Guard {
  const { cookiePrefix, authId, lists = everybody, ...rest } = config;
  const { siteId, accountId, ownerId, revision, endpointHost } = scope;
  const isAgents = endpointHost !== undefined;
  const realm = realmOf({ siteId, kind: method.kind, provider, clientId: method.realmId, cookiePrefix, authId });
  return new Guard({ ...rest, authId, method, realm, lists, accountId, siteId, ownerId, isAgents, revision }, context);
}

function jobThreadFor(
  { allowLocal, issuers, ca, skewSeconds }: LoginSettings,
  log: Log,
): ReturnType<typeof makeJobThread> {
  return makeJobThread({ allowLocal, issuers, ca, skewSeconds }, log);
}
