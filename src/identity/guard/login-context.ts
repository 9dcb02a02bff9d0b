/** State that all logins share on an edge's traffic thread. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Lru } from "../../lib/collections/lru.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Assertions } from "./assertions.ts";
import type { LoginEnd, TellLogin } from "../sessions/login-events.ts";
import type { LoginGate } from "./gate.ts";
import type { LoginJobs } from "../jobs/login-jobs.ts";
import type { LoginReports } from "../sessions/login-reports.ts";
import type { FlowSealer } from "../browser/flow-sealing.ts";
import type { Session } from "../sessions/login-session.ts";
import type { ServiceTokens } from "../sessions/service-tokens.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { LoginSettings } from "../browser/login-settings.ts";
import type { OpenExchanges } from "../sessions/open-exchanges.ts";

/** A key pair that signs messages to SAML providers, PEM. */
export interface SamlSigning {
  readonly signingKeyPem: string;
  readonly signingCertificatePem: string;
}

/** The parts of a site that logins use. */
export interface LoginSite {
  readonly accountId: string;
  readonly logins?: readonly LoginGuard[];
  /** Lower case, wildcards as `*.example.com`. */
  readonly hosts: readonly string[];
  /** Its member endpoints, if the site consists of several endpoints of one URL. */
  readonly members?: readonly LoginSite[];
  findRoute(path: string, host: string): LoginRoute | undefined;
  /** Whether the site is reachable under this host at the port. */
  advertises(host: string, port: number): boolean;
}

export interface LoginRoute {
  readonly id: string;
  readonly problem: unknown;
  readonly request: readonly CompiledModule[];
}

/** Host and path of a route. */
export interface RoutePath {
  /** "" for any host of the edge. */
  readonly host: string;
  readonly path: string;
}

export interface LoginContext {
  readonly settings: LoginSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessions: Sessions;
  readonly serviceTokens: ServiceTokens;
  readonly sealer: FlowSealer;
  readonly jobs: LoginJobs;
  readonly assertions: Assertions;
  /** Signs messages to SAML providers for policy rules; undefined until the control plane has sent the key. */
  readonly samlSigning: () => SamlSigning | undefined;
  readonly reports: LoginReports;
  readonly open: OpenExchanges;
  /** Limits the rate of login work. Enter it before each piece. */
  readonly gate: LoginGate;
  /** Ids of finished flows and logouts, so that none is finished twice. */
  readonly used: Lru<string, true>;
  readonly siteFor: (host: string) => LoginSite | undefined;
  /** Undefined for endpoints, which serve every path. */
  readonly placeOf: (routeId: string) => RoutePath | undefined;
  /** Whether a session was ended here. A control plane that does not know yet must not bring it back. */
  isEnded(id: string): boolean;
  /** Ends a session on this edge and requests its end everywhere. `exchange` is the request that caused it. */
  end(session: Session, why: LoginEnd, exchange?: Exchange): void;
  /** Sends events to subscribers. */
  readonly tell: TellLogin;
}
