/** Logins by SAML on an edge: routes' guards, their paths on the host of logins, and the thread that does the work. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { CompiledModule, Scope } from "../../traffic/module.ts";
import type { Logins, LoginRouteConfig } from "../engine.ts";
import type { IdpPath } from "../idp-site.ts";
import { makeUsedMessages } from "../saml/used-messages.ts";
import { everybody } from "../verdict.ts";
import { startIdentityWorker } from "../worker/client.ts";
import { documentSource } from "./idp-source.ts";
import { SamlMethod } from "./saml-method.ts";
import type { SamlRoute } from "./saml-method.ts";
import { samlPaths } from "./saml-paths.ts";
import type { RoutePlace } from "./addressed-route.ts";

export interface SamlLoginConfig {
  readonly login: LoginRouteConfig;
  readonly saml: Omit<SamlRoute, "routeId">;
  readonly idpMetadata: string;
}

export interface SamlLogins {
  readonly path: IdpPath;
  guard(config: SamlLoginConfig, scope: Scope, logins: Logins): CompiledModule;
  close(): Promise<void>;
}

export interface SamlLoginsOptions {
  readonly clock: Clock;
  readonly log: Log;
  placeOf(routeId: string): RoutePlace | undefined;
}

/** Assertions that a node remembers, each for some minutes. */
const maxUsed = 100_000;

export function makeSamlLogins({ clock, log, placeOf }: SamlLoginsOptions): SamlLogins {
  const worker = startIdentityWorker({ clock, log });
  const used = makeUsedMessages(maxUsed);
  return {
    path: samlPaths({ placeOf, used }),
    guard({ login, saml, idpMetadata }, scope, { guard, context }) {
      const source = documentSource(idpMetadata, worker, clock);
      const method = new SamlMethod({ ...saml, routeId: scope.ownerId }, { source, worker, context });
      const lists = { ...everybody, groups: new Set(saml.authorizedGroups) };
      return guard(method, scope.ownerId, { ...login, lists }, scope);
    },
    close: () => worker.stop(),
  };
}
