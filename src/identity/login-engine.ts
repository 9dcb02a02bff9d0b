/**
 * Logins on an edge: the guards that modules compile to, the paths that the edge serves for them, and the stored
 * records.
 */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { Lru } from "../lib/collections/lru.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { PackedObjects } from "../schema/packed.ts";
import type { CompiledModule, Scope } from "../traffic/module.ts";
import { makeAssertions } from "./guard/assertions.ts";
import type { Connection } from "./calls/provider-connection.ts";
import type { LoginJobs } from "./jobs/login-jobs.ts";
import { makeJobThread } from "./jobs/job-messages.ts";
import { makeChangingMethod } from "./methods/changing-method.ts";
import type { CurrentClient } from "./methods/changing-method.ts";
import { codeMethod } from "./methods/code-method.ts";
import type { LoginContext, LoginSite, RoutePath } from "./guard/login-context.ts";
import { makeEndedLogin } from "./sessions/login-events.ts";
import type { TellLogin } from "./sessions/login-events.ts";
import { makeLoginGate } from "./guard/gate.ts";
import { Guard } from "./guard/login-guard.ts";
import { makeHostPaths } from "./visits/host-paths.ts";
import type { HostPaths } from "./visits/host-paths.ts";
import { makeIdpSite } from "./visits/idp-site.ts";
import type { IdpPath } from "./visits/idp-site.ts";
import type { MachineClients } from "../traffic/machine-clients.ts";
import type { LoginMethod } from "./methods/method.ts";
import { makeOpenExchanges } from "./sessions/open-exchanges.ts";
import { issuerTag, realmOf } from "./browser/realm.ts";
import { loginKeyKind, metadataKind, recordOf, sessionKind } from "./sessions/session-records.ts";
import { makeLoginReports } from "./sessions/login-reports.ts";
import type { LoginReport, LoginReports } from "./sessions/login-reports.ts";
import { makeFlowSealer } from "./browser/flow-sealing.ts";
import { makeServerKeys } from "./guard/server-keys.ts";
import type { ServerKeys } from "./guard/server-keys.ts";
import { makeServiceTokens, serviceTokenKind } from "./sessions/service-tokens.ts";
import { makeSessions } from "./sessions/sessions.ts";
import type { LoginSettings } from "./browser/login-settings.ts";
import { endTimedOut } from "./visits/time-outs.ts";
import { everybody } from "./sessions/login-verdict.ts";
import type { Lists } from "./sessions/login-verdict.ts";

export interface LoginRouteConfig {
  readonly cookiePrefix: string;
  readonly optionsPassthrough: boolean;
  readonly inactivityTimeout: number;
  readonly maximumDuration: number;
  /** Seconds, like the two above; 0 means never. */
  readonly checkInterval: number;
  readonly lists?: Lists;
  /** For a policy rule, "" if it names none; absent for a module. */
  readonly authId?: string;
  /** Clients that are not browsers; absent if only browsers are admitted. */
  readonly machines?: MachineClients | undefined;
}

export interface CodeLoginConfig extends LoginRouteConfig {
  /** Its client is ignored if `client` is set. */
  readonly connection: Connection;
  /** Returns the current client, if it can change; undefined if it cannot be determined. */
  readonly client?: CurrentClient | undefined;
  /** Additional parameters of the authorization URL. */
  readonly authorizeParameters?: Readonly<Record<string, string>>;
  readonly forwardsTokens: boolean;
  readonly neededScopes: readonly string[];
}

export interface Logins {
  readonly settings: LoginSettings;
  /** For other methods. */
  readonly context: LoginContext;
  /** Returns the guard of a route with an OAuth or OpenID Connect login. */
  codeLogin(config: CodeLoginConfig, scope: Scope): Guard;
  /** Returns the guard of a route with another login method. */
  guard(method: LoginMethod, provider: string, config: LoginRouteConfig, scope: Scope): Guard;
  readonly hostPaths: HostPaths;
  /** Serves the login host. */
  readonly idp: CompiledModule;
  readonly reports: LoginReports;
  /** The account of server-wide objects, such as these keys; undefined before they arrive. */
  readonly serverAccountId: string | undefined;
  /** Applies stored objects from the control plane: all of them, or changes. */
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
  /** Calls providers. Default: a separate thread. */
  readonly jobs?: LoginJobs & { close(): void };
  /** Paths that other methods serve on the login host. */
  readonly idpPaths?: readonly IdpPath[];
}

/** Kinds of objects that only logins use. The edge stores them here and nowhere else. */
export const loginKinds: ReadonlySet<string> = new Set([sessionKind, loginKeyKind, metadataKind, serviceTokenKind]);

const activityMs = 30_000;
const maxUsed = 100_000;
const maxEnded = 10_000;

export function makeLogins(options: LoginsOptions): Logins {
  const { settings, clock, log, metrics, send, tell, siteFor, placeOf } = options;
  const reports = makeLoginReports(send, clock, settings.isShared);
  const jobs = options.jobs ?? jobThreadFor(settings, log);
  const open = makeOpenExchanges(clock);
  /** Sessions ended here, so that a control plane that does not know yet cannot bring them back. */
  const endedHere = new Lru<string, string>(maxEnded);
  const sessions = makeSessions(clock, () => queueMicrotask(open.sweep));
  const serviceTokens = makeServiceTokens(clock, () => queueMicrotask(open.sweep));
  const keys = makeServerKeys(makeFlowSealer(), makeAssertions(jobs, clock));
  const context: LoginContext = {
    settings,
    clock,
    log,
    sessions,
    serviceTokens,
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
      if (!session.ended) tell("login_ended.v0", accountId, () => makeEndedLogin(session, why, exchange, isStored));
      endedHere.set(id, accountId);
      sessions.end(id);
      reports.logout(accountId, [id]);
    },
    tell,
  };
  const idp = makeIdpSite(context, options.idpPaths ?? []);
  const report = (): void => {
    reports.activity(sessions.takeActivity());
    reports.tokenActivity(serviceTokens.takeUses());
  };
  const activity = clock.every(activityMs, report);
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
      const method = client ? makeChangingMethod(connection, client, methodOf, follow) : methodOf(connection);
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
      report();
      open.stop();
      sessions.stop();
      serviceTokens.stop();
      jobs.close();
    },
  };
}

/** Applies the control plane's stored login objects. */
function followStored(
  { sessions, serviceTokens, reports, isEnded }: LoginContext,
  keys: ServerKeys,
): Pick<Logins, "load" | "change"> {
  return {
    load(objects, parts) {
      const ofKeys: ResourceObject[] = [];
      const ofMachines: ResourceObject[] = [];
      for (const object of objects) {
        if (object.kind === loginKeyKind) ofKeys.push(object);
        else if (object.kind === serviceTokenKind) ofMachines.push(object);
      }
      keys.load(ofKeys);
      serviceTokens.load(ofMachines);
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
        else if (kind === serviceTokenKind) serviceTokens.change(id, object);
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
