/** What the operator says of logins. */

import type { ManagedApps } from "../../settings/kinds/oauth-apps.ts";

export interface LoginSettings {
  /** Where logins of every account come back to, lower case. */
  readonly idpHost: string;
  /** The port in public URLs. */
  readonly httpsPort: () => number;
  /** By provider. An entry without a client only says where the provider is. */
  readonly apps: ManagedApps;
  /** PEM of authorities that providers may have their certificates from, instead of the system's. */
  readonly ca: string | undefined;
  /** Providers that tenants name may be at local addresses, and without TLS. */
  readonly allowLocal: boolean;
  /** Issuers that may be there nevertheless, as the operator says. */
  readonly issuers: readonly string[];
  /** Of each account; beyond it the longest idle one goes. */
  readonly maxSessions: number;
  /** A session that is unused for so long goes, whatever its route says. */
  readonly idleDays: number;
  readonly skewSeconds: number;
  /** Every issuer's visitors come back at one path: only where all accounts trust each other. */
  readonly sharedCallback: boolean;
  /** There are other edges, at which the same visitors arrive. */
  readonly isShared: boolean;
}

/** Where visitors of a login come back to: what is registered at its provider. @param path of the method's callback */
export function callbackUri(
  { idpHost, httpsPort }: Pick<LoginSettings, "idpHost" | "httpsPort">,
  path: string,
): string {
  return originOf(idpHost, httpsPort()) + path;
}

/** A public URL of a host, without a slash at its end. */
export function originOf(host: string, httpsPort: number): string {
  return `https://${host}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}
