/** What everything about logins shares on an edge's traffic thread. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Lru } from "../../lib/collections/lru.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Assertions } from "./assertions.ts";
import type { LoginEnd, TellLogin } from "../sessions/events.ts";
import type { LoginGate } from "./gate.ts";
import type { LoginJobs } from "../jobs/jobs.ts";
import type { LoginReports } from "../sessions/reports.ts";
import type { FlowSealer } from "../browser/sealing.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { LoginSettings } from "../browser/settings.ts";
import type { OpenExchanges } from "../sessions/open-exchanges.ts";

/** A key pair that signs what SAML providers are sent, PEM. */
export interface SamlSigning {
  readonly signingKeyPem: string;
  readonly signingCertificatePem: string;
}

/** What of a site logins have to do with. */
export interface LoginSite {
  readonly accountId: string;
  readonly logins?: readonly LoginGuard[];
  /** Lower case, wildcards as `*.example.com`. */
  readonly hosts: readonly string[];
  /** Those that it stands for, where it is several endpoints of one URL. */
  readonly members?: readonly LoginSite[];
  findRoute(path: string, host: string): LoginRoute | undefined;
  /** Whether it is reached at the port under this host. */
  advertises(host: string, port: number): boolean;
}

export interface LoginRoute {
  readonly id: string;
  readonly problem: unknown;
  readonly request: readonly CompiledModule[];
}

/** What a route of an edge has to itself. */
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
  readonly sealer: FlowSealer;
  readonly jobs: LoginJobs;
  readonly assertions: Assertions;
  /** Signs what SAML providers are sent for rules of policies; undefined until the control plane has sent it. */
  readonly samlSigning: () => SamlSigning | undefined;
  readonly reports: LoginReports;
  readonly open: OpenExchanges;
  /** Before every piece of work of a login. */
  readonly gate: LoginGate;
  /** Ids of flows and log-outs that were finished: none is finished twice. */
  readonly used: Lru<string, true>;
  readonly siteFor: (host: string) => LoginSite | undefined;
  /** Undefined for endpoints, which have every path. */
  readonly placeOf: (routeId: string) => RoutePath | undefined;
  /** Whether a session was ended here: a control plane that has not heard of it must not bring it back. */
  isEnded(id: string): boolean;
  /** Ends a session here and has it ended everywhere; `exchange` is the request that did. */
  end(session: Session, why: LoginEnd, exchange?: Exchange): void;
  /** For those who are subscribed. */
  readonly tell: TellLogin;
}
