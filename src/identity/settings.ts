/** What the operator says of logins. */

/** The server's own app at a provider, for routes without one. */
export interface ManagedApp {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where the provider's endpoints are instead; "" for where they are. */
  readonly baseUrl: string;
  /** Of Facebook's Graph API; "" for the one that is known here. */
  readonly graphVersion: string;
}

export interface LoginSettings {
  /** Where logins of every account come back to, lower case. */
  readonly idpHost: string;
  /** The port in public URLs. */
  readonly httpsPort: () => number;
  /** By provider. An entry without a client only says where the provider is. */
  readonly apps: Readonly<Record<string, ManagedApp>>;
  /** PEM of authorities that providers may have their certificates from, instead of the system's. */
  readonly ca: string | undefined;
  /** Providers that tenants name may be at local addresses, and without TLS. */
  readonly allowLocal: boolean;
  /** Of each account; beyond it the longest idle one goes. */
  readonly maxSessions: number;
  /** A session that is unused for so long goes, whatever its route says. */
  readonly idleDays: number;
  readonly skewSeconds: number;
  /** Every issuer's visitors come back at one path: only where all accounts trust each other. */
  readonly sharedCallback: boolean;
}

export const defaultLoginLimits = {
  apps: {},
  ca: undefined,
  allowLocal: false,
  maxSessions: 100_000,
  idleDays: 30,
  skewSeconds: 60,
  sharedCallback: false,
} as const;

/** A public URL of a host, without a slash at its end. */
export function originOf(host: string, httpsPort: number): string {
  return `https://${host}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}
