/**
 * Logins with the authorization code flow: OAuth providers and OpenID Connect issuers (RFC 6749 §4.1, RFC 7636, RFC
 * 9207).
 */
import type { Connection, ProviderMetadata } from "../calls/provider-connection.ts";
import type { LoginJobs } from "../jobs/login-jobs.ts";
import { challengeOf } from "../browser/flow.ts";
import type { Flow } from "../browser/flow.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginRefusalName } from "../calls/identity.ts";
import type { LoginMethod } from "./method.ts";
import { oauthMetadata } from "../oauth/oauth-login.ts";
import { isIssuerOf } from "../oauth/oauth-provider.ts";
import { oauthProviders } from "../oauth/oauth-providers.ts";
import { issuerTag } from "../browser/realm.ts";
import { callbackUri } from "../browser/login-settings.ts";
import type { LoginSettings } from "../browser/login-settings.ts";

export const oauthCallback = "/oauth2/callback";

export interface CodeMethodOptions {
  readonly connection: Connection;
  readonly accountId: string;
  /** Additional parameters of the authorization URL. */
  readonly authorizeParameters: Readonly<Record<string, string>>;
  readonly forwardsTokens: boolean;
  /** The lists need one of these scopes; empty if they need none. */
  readonly neededScopes: readonly string[];
  readonly jobs: LoginJobs;
  readonly settings: LoginSettings;
  readonly now: () => number;
}

/** How long an issuer's metadata is used without asking the login thread again. */
const metadataMs = 60_000;

const byError: Readonly<Record<string, LoginRefusalName>> = {
  access_denied: "login_declined",
  user_cancelled_login: "login_declined",
  user_cancelled_authorize: "login_declined",
  consent_required: "login_declined",
  redirect_uri_mismatch: "login_redirect_refused",
  invalid_client: "login_client_refused",
  unauthorized_client: "login_client_refused",
  application_suspended: "login_client_refused",
  invalid_scope: "login_scope_refused",
  temporarily_unavailable: "login_busy",
  server_error: "login_provider_down",
};

export function codeMethod(options: CodeMethodOptions): LoginMethod {
  const { connection, accountId, jobs, settings, now } = options;
  const { kind, issuer, clientId, scopes } = connection;
  const provider = oauthProviders.get(connection.provider);
  const fixed = provider && kind === "oauth" ? oauthMetadata(connection, provider) : undefined;
  const callbackPath =
    kind === "oauth" || settings.sharedCallback ? oauthCallback : `${oauthCallback}/${issuerTag(accountId, issuer)}`;
  const redirectUri = (): string => callbackUri(settings, callbackPath);
  const isIssuer = (iss: string, found: ProviderMetadata): boolean =>
    provider && kind === "oauth" ? isIssuerOf(provider, iss) : iss === found.issuer;
  let known: { readonly metadata: ProviderMetadata; readonly until: number } | undefined;

  const metadata = (): ProviderMetadata | Promise<ProviderMetadata> => {
    if (fixed) return fixed;
    if (known && known.until > now()) return known.metadata;
    return jobs.metadata(connection).then((found) => {
      known = { metadata: found, until: now() + metadataMs };
      return found;
    });
  };
  const location = (found: ProviderMetadata, flow: Flow, state: string, prompt: string | undefined): string => {
    const url = new URL(found.authorizeUrl);
    const set = (name: string, value: string): void => url.searchParams.set(name, value);
    for (const [name, value] of Object.entries({ ...found.parameters, ...options.authorizeParameters }))
      set(name, value);
    set("response_type", "code");
    set("client_id", clientId);
    set("redirect_uri", redirectUri());
    set("scope", scopes.join(found.scopeSeparator));
    set("state", state);
    if (found.nonce) set("nonce", flow.nonce);
    if (found.pkce) {
      set("code_challenge", challengeOf(flow.verifier));
      set("code_challenge_method", "S256");
    }
    const isOther = prompt !== undefined && !flow.anew;
    const anew = flow.anew && found.openid ? { prompt: "login", max_age: "0" } : {};
    for (const [name, value] of Object.entries(isOther ? found.otherAccount : anew)) {
      // Several prompts are sent in one parameter (OpenID Connect Core 1.0 §3.1.2.1). Without consent there is no
      // refresh token.
      set(name, name === "prompt" ? promptsOf(url.searchParams.get(name), value) : value);
    }
    return url.href;
  };

  return {
    kind,
    clientId,
    realmId: clientId,
    title: fixed?.title ?? new URL(issuer).host,
    url: fixed?.url ?? issuer,
    scopes,
    neededScopes: options.neededScopes,
    forwardsTokens: options.forwardsTokens,
    callbackPath,
    begin(flow, state, prompt) {
      const found = metadata();
      return found instanceof Promise
        ? found.then((one) => location(one, flow, state, prompt))
        : location(found, flow, state, prompt);
    },
    async finish(parameters, flow) {
      const found = await metadata();
      checkIssuer(parameters, found, isIssuer);
      const error = parameters.get("error");
      if (error !== undefined)
        throw toRegister(refusalFrom(error, parameters.get("error_description") ?? ""), redirectUri());
      const code = parameters.get("code") ?? "";
      if (code === "") throw new LoginRefusal("login_provider_error", "the provider sent neither a code nor an error");
      const exchange = { code, verifier: flow.verifier, nonce: flow.nonce, redirectUri: redirectUri() };
      const done = await jobs.login(connection, exchange).catch((error: unknown) => {
        throw toRegister(error, redirectUri());
      });
      const shownAfter = flow.startedAt / 1000 - settings.skewSeconds;
      if (flow.anew && kind === "oidc" && done.identity.authenticatedAt < shownAfter) {
        throw new LoginRefusal(
          "login_token_invalid",
          "the provider did not authenticate the visitor again (auth_time)",
        );
      }
      return done;
    },
    renew: async (tokens, subject) => await jobs.renew(connection, tokens, subject),
    ...(kind === "oidc" && {
      logout: async (tokens, returnUrl) => await jobs.logoutUrl(connection, tokens, returnUrl),
    }),
  };
}

/** `none` must stand alone. */
function promptsOf(present: string | null, more: string): string {
  const prompts = (present ?? "").split(" ").filter((one) => one !== "" && one !== "none");
  return [...new Set([...prompts, more])].join(" ");
}

/** RFC 9207 §2.4: a response from another issuer is a mix-up attack. */
function checkIssuer(
  parameters: ReadonlyMap<string, string>,
  metadata: ProviderMetadata,
  isIssuer: (iss: string, metadata: ProviderMetadata) => boolean,
): void {
  const issuer = parameters.get("iss");
  if (issuer === undefined ? !metadata.returnsIssuer : isIssuer(issuer, metadata)) return;
  throw new LoginRefusal(
    "login_elsewhere",
    issuer === undefined ? "the provider omitted iss" : "iss is another issuer",
  );
}

function refusalFrom(error: string, description: string): LoginRefusal {
  const errorName = Object.hasOwn(byError, error) ? (byError[error] as LoginRefusalName) : "login_provider_error";
  const said = JSON.stringify(`${error}: ${description}`.slice(0, 200));
  return new LoginRefusal(errorName, `the provider answered ${said}`);
}

/** If a provider rejects the callback URL, the operator sees which URL to register. */
function toRegister(error: unknown, redirectUri: string): unknown {
  if (!(error instanceof LoginRefusal) || error.reason !== "login_redirect_refused") return error;
  return new LoginRefusal(error.reason, `${error.message}; register ${redirectUri}`);
}
