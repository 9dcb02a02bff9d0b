/** SAML logins on an edge: the routes' guards, their paths on the login host, and the worker thread. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Scope } from "../../traffic/module.ts";
import type { SamlSigning } from "../guard/login-context.ts";
import type { Logins, LoginRouteConfig } from "../login-engine.ts";
import { Guard } from "../guard/login-guard.ts";
import type { IdpPath } from "../visits/idp-site.ts";
import { makeUsedMessages } from "../saml/used-messages.ts";
import { everybody } from "../sessions/login-verdict.ts";
import { startIdentityWorker } from "../worker/worker-client.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeFoundMetadata } from "./found-metadata.ts";
import type { FoundMetadata } from "./found-metadata.ts";
import { addressSource, documentSource } from "./idp-source.ts";
import type { IdpSource } from "./idp-source.ts";
import { SamlMethod } from "./saml-method.ts";
import type { SamlRoute } from "./saml-method.ts";
import { samlPaths } from "./saml-paths.ts";
import type { RoutePlace } from "./addressed-route.ts";

export interface SamlLoginConfig {
  readonly login: LoginRouteConfig;
  readonly saml: SamlRoute;
  /** The current key pair; undefined if there is none. */
  readonly signing: () => SamlSigning | undefined;
  /** "" if there is none. With both, the document is used until the address yields valid metadata. */
  readonly idpMetadata: string;
  readonly idpMetadataUrl: string;
}

export interface SamlLogins extends Pick<FoundMetadata, "load" | "change"> {
  readonly path: IdpPath;
  guard(config: SamlLoginConfig, scope: Scope, logins: Logins): Guard;
  close(): Promise<void>;
}

export interface SamlLoginsOptions {
  readonly clock: Clock;
  readonly log: Log;
  placeOf(routeId: string): RoutePlace | undefined;
  /** Called for a route whose metadata cannot be used. */
  failed(routeId: string, why: Error): void;
}

/** Maximum number of remembered assertions per node, each for some minutes. */
const maxUsed = 100_000;

export function makeSamlLogins({ clock, log, placeOf, failed }: SamlLoginsOptions): SamlLogins {
  const worker = startIdentityWorker({ clock, log });
  const used = makeUsedMessages(maxUsed);
  const found = makeFoundMetadata();
  let checked = Promise.resolve();
  /** Checked one after the other, so that many routes do not delay logins. */
  const checkSoon = ({ ownerId, endpointHost }: Scope, method: SamlMethod, source: IdpSource): void => {
    const isMeant = (): boolean => endpointHost !== undefined || isInEffect(ownerId, method);
    checked = checked.then(async () => {
      if (!isMeant()) return;
      try {
        await source.get();
      } catch (error) {
        if (!(error instanceof LoginRefusal) || error.reason !== "saml_metadata" || !isMeant()) return;
        if (endpointHost === undefined) failed(ownerId, error);
        else log.warn("metadata from an agent cannot be used", { host: endpointHost, error: error.message });
      }
    });
  };
  const isInEffect = (routeId: string, method: SamlMethod): boolean =>
    placeOf(routeId)?.site.logins?.some((one) => one instanceof Guard && one.options.method === method) === true;
  return {
    path: samlPaths({ placeOf, used }),
    guard({ login, saml, signing, idpMetadata, idpMetadataUrl: url }, scope, { guard, context }) {
      const { ownerId, accountId } = scope;
      const { routeId: name } = saml;
      const document = idpMetadata === "" ? undefined : documentSource(idpMetadata, worker, clock);
      const ask = (): Promise<boolean> =>
        context.reports.renewMetadata(accountId, name, { url, document: idpMetadata });
      const source =
        document && url === ""
          ? document
          : addressSource({
              url,
              kept: () => found.of(accountId, name, url),
              document,
              // A route's own module requests the metadata by its existence.
              ask: name === ownerId ? undefined : ask,
              clock,
            });
      const method = new SamlMethod(saml, { source, signing, worker, context, isRenewable: url !== "" });
      if (idpMetadata !== "") checkSoon(scope, method, source);
      // Metadata that cannot be fetched now may be available later. Errors are reported to visitors who log in.
      else if (name !== ownerId) void source.get().catch(() => {});
      const lists = { ...everybody, groups: new Set(saml.authorizedGroups) };
      return guard(method, saml.routeId, { ...login, lists }, scope);
    },
    load: found.load,
    change: found.change,
    close: () => worker.stop(),
  };
}
