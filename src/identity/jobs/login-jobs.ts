/** The work of the login thread: calls to providers, and signatures. */
import type { Clock } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeOAuthLogin } from "../oauth/oauth-login.ts";
import { oauthProviders } from "../oauth/oauth-providers.ts";
import { makeDiscovery } from "../oidc/oidc-discovery.ts";
import type { Issuer } from "../oidc/oidc-discovery.ts";
import { makeIssuerLogin } from "../oidc/issuer-login.ts";
import { makeKeySet } from "../oidc/issuer-keys.ts";
import type { KeySet } from "../oidc/issuer-keys.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { signAssertion } from "./assertion.ts";
import type { AssertionRequest } from "./assertion.ts";
import type { Connection, ProviderMetadata, Tokens } from "../calls/provider-connection.ts";
import { makeFetches } from "../calls/fetch.ts";
import type { CodeExchange, LoggedIn, LoginClient, ProviderLogout, Renewed } from "../calls/login-client.ts";

/** The interface for the traffic thread. All arguments and results can be cloned. Rejects with `LoginRefusal`. */
export interface LoginJobs {
  metadata(connection: Connection): Promise<ProviderMetadata>;
  login(connection: Connection, exchange: CodeExchange): Promise<LoggedIn>;
  renew(connection: Connection, tokens: Tokens, subject: string): Promise<Renewed>;
  logoutUrl(connection: Connection, tokens: Tokens, returnUrl: string): Promise<string | undefined>;
  loggedOut(connection: Connection, token: string): Promise<ProviderLogout>;
  sign(request: AssertionRequest): Promise<string>;
}

export interface JobSettings {
  readonly clock: Clock;
  readonly allowLocal: boolean;
  /** OpenID Connect issuers that may have any address. */
  readonly issuers: readonly string[];
  readonly ca: string | undefined;
  readonly skewSeconds: number;
}

/** Time limit for a whole login, including all of its calls, milliseconds. */
const loginMs = 10_000;
/** Maximum number of cached issuers and key sets. */
const maxKept = 1_000;

export function makeJobs({ clock, allowLocal, issuers: named, ca, skewSeconds }: JobSettings): LoginJobs {
  const fetches = makeFetches({ clock, allowLocal, ca });
  const issuers = new Lru<string, () => Promise<Issuer>>(maxKept);
  const keySets = new Lru<string, KeySet>(maxKept);
  const now = (): number => clock.now();

  const clientOf = (connection: Connection): LoginClient => {
    const { kind, provider: name, issuer, baseUrl } = connection;
    if (kind === "oidc") {
      const fetcher = fetches.to(issuer, named.includes(issuer.replace(/\/+$/, "")));
      let discover = issuers.get(issuer);
      if (!discover) issuers.set(issuer, (discover = makeDiscovery(issuer, fetcher, clock)));
      return makeIssuerLogin(connection, { discover, fetcher, now, skewSeconds });
    }
    const provider = oauthProviders.get(name);
    if (!provider) throw new LoginRefusal("login_provider_error", `there is no provider "${name}"`);
    const fetcher = fetches.to(name, baseUrl !== "");
    const keys = (url: string): KeySet => {
      let set = keySets.get(url);
      if (!set) keySets.set(url, (set = makeKeySet(url, fetcher, clock)));
      return set;
    };
    return makeOAuthLogin(connection, provider, { fetcher, keys, now, skewSeconds });
  };
  const bounded = async <T>(work: Promise<T>): Promise<T> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = clock.after(loginMs, () =>
      reject(new LoginRefusal("login_unreachable", `not done within ${loginMs / 1000} s`)),
    );
    try {
      return await Promise.race([work, promise]);
    } finally {
      timer.cancel();
    }
  };
  return {
    metadata: async (connection) => await bounded(clientOf(connection).metadata()),
    login: async (connection, exchange) => await bounded(clientOf(connection).login(exchange)),
    renew: async (connection, tokens, subject) => await bounded(clientOf(connection).renew(tokens, subject)),
    logoutUrl: async (connection, tokens, returnUrl) =>
      await bounded(clientOf(connection).logoutUrl?.(tokens, returnUrl) ?? Promise.resolve(undefined)),
    async loggedOut(connection, token) {
      const client = clientOf(connection);
      if (!client.loggedOut) throw new LoginRefusal("login_token_invalid", "the provider sends no logout notices");
      return await bounded(client.loggedOut(token));
    },
    sign: signAssertion,
  };
}
