/** The operator's settings for logins. */

import type { ManagedApps } from "../../settings/kinds/oauth-apps.ts";

export interface LoginSettings {
  /** Callback host for the logins of every account, lower case. */
  readonly idpHost: string;
  /** The HTTPS port of public URLs. */
  readonly httpsPort: () => number;
  /** Apps by provider. An entry without a client only states the provider's address. */
  readonly apps: ManagedApps;
  /** PEM of authorities that may issue providers' certificates, instead of the system's. */
  readonly ca: string | undefined;
  /** Whether tenants' providers may have local addresses and use plain HTTP. */
  readonly allowLocal: boolean;
  /** Issuers that may be local anyway, as configured by the operator. */
  readonly issuers: readonly string[];
  /** Maximum per account. Beyond it, the session that was idle longest ends. */
  readonly maxSessions: number;
  /** Days without use after which a session ends, whatever its route allows. */
  readonly idleDays: number;
  readonly skewSeconds: number;
  /** Whether all issuers share one callback path, which is safe only if all accounts trust each other. */
  readonly sharedCallback: boolean;
  /** Whether other edges serve the same visitors. */
  readonly isShared: boolean;
}

/** The callback URL to register at the provider. @param path the method's callback path */
export function callbackUri(
  { idpHost, httpsPort }: Pick<LoginSettings, "idpHost" | "httpsPort">,
  path: string,
): string {
  return originOf(idpHost, httpsPort()) + path;
}

/** The public URL of a host, without a trailing slash. */
export function originOf(host: string, httpsPort: number): string {
  return `https://${host}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}
