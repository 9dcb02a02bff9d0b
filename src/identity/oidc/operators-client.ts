/** A client of an issuer that the operator configured, which may have any address. */
import type { Clock } from "../../lib/clock.ts";
import { makeFetches } from "../calls/fetch.ts";
import type { LoginClient } from "../calls/login-client.ts";
import { makeDiscovery } from "./oidc-discovery.ts";
import { makeIssuerLogin } from "./issuer-login.ts";

export interface OperatorsClientOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly skewSeconds: number;
  /** PEM of authorities that may have issued its certificate. Default: the system's. */
  readonly ca: string | undefined;
  readonly clock: Clock;
}

export interface OperatorsClient {
  readonly client: LoginClient;
  close(): void;
}

export function openOperatorsClient(options: OperatorsClientOptions): OperatorsClient {
  const { issuer, clientId, clientSecret, skewSeconds, ca, clock } = options;
  const fetches = makeFetches({ clock, allowLocal: false, ca });
  const fetcher = fetches.to(issuer, true);
  const discover = makeDiscovery(issuer, fetcher, clock);
  const place = { kind: "oidc", provider: "", issuer, baseUrl: "", graphVersion: "" } as const;
  const connection = { ...place, clientId, clientSecret, scopes: ["openid"], refreshes: false };
  return {
    client: makeIssuerLogin(connection, { discover, fetcher, now: () => clock.now(), skewSeconds }),
    close: () => fetches.close(),
  };
}
