/** A login with an OAuth provider: the code flow with the provider's peculiarities. */
import type { JsonObject } from "../../lib/json.ts";
import { openidOtherAccount } from "../calls/provider-connection.ts";
import type { Connection, Tokens } from "../calls/provider-connection.ts";
import type { ProviderFetch } from "../calls/fetch.ts";
import type { LoginClient } from "../calls/login-client.ts";
import { clientForm, tokenAnswer } from "../calls/token-answer.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import { verifyIdToken } from "../oidc/id-token.ts";
import type { KeySet } from "../oidc/issuer-keys.ts";
import { graphVersion } from "./facebook.ts";
import { dataRefusal } from "./oauth-provider.ts";
import type { OAuthProvider } from "./oauth-provider.ts";

export interface OAuthSettings {
  readonly fetcher: ProviderFetch;
  /** The key set at a URL, shared by all logins. */
  readonly keys: (url: string) => KeySet;
  readonly now: () => number;
  readonly skewSeconds: number;
}

export function makeOAuthLogin(connection: Connection, provider: OAuthProvider, settings: OAuthSettings): LoginClient {
  const { fetcher, keys, now, skewSeconds } = settings;
  const { clientId, clientSecret, scopes: asked } = connection;
  const at = (url: string): string => endpointAt(url, connection);

  const claimsOf = async (tokens: Tokens, nonce: string | undefined): Promise<JsonObject | undefined> => {
    const { openid } = provider;
    if (!openid) return undefined;
    if (tokens.id === "") throw new LoginRefusal("login_token_invalid", "the provider returned no id_token");
    return await verifyIdToken(tokens.id, keys(at(openid.keysUrl)), {
      issuer: typeof openid.issuer === "string" ? openid.issuer : openid.issuer.of,
      clientId,
      nonce,
      accessToken: tokens.access,
      algorithms: openid.algorithms,
      nowMs: now(),
      skewSeconds,
    });
  };
  const identity = async (
    tokens: Tokens,
    claims: JsonObject | undefined,
    scopes: readonly string[],
  ): Promise<Identity> => {
    const found = await provider.identity({
      tokens,
      claims,
      clientId,
      clientSecret,
      scopes,
      async get(url, headers) {
        const answer = await fetcher.get(at(url), { authorization: `Bearer ${tokens.access}`, ...headers });
        if (answer.status === 200) return answer;
        throw dataRefusal(answer, new URL(url).pathname);
      },
    });
    if (found.subject === "") throw new LoginRefusal("login_provider_error", `${provider.title} names nobody`);
    return found;
  };

  return {
    metadata: async () => oauthMetadata(connection, provider),
    async login({ code, redirectUri, verifier, nonce }) {
      const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, ...clientForm(connection) };
      const withProof = provider.pkce ? { ...form, code_verifier: verifier } : form;
      const { tokens, scopes } = tokenAnswer(await fetcher.post(at(provider.tokenUrl), withProof), asked);
      const claims = await claimsOf(tokens, nonce);
      return { identity: await identity(tokens, claims, scopes), tokens, scopes };
    },
    async renew(tokens, subject) {
      let current = tokens;
      let claims: JsonObject | undefined;
      if (provider.refreshes && tokens.refresh !== "") {
        const form = { grant_type: "refresh_token", refresh_token: tokens.refresh, ...clientForm(connection) };
        const renewed = tokenAnswer(await fetcher.post(at(provider.tokenUrl), form), asked, "refresh").tokens;
        current = { access: renewed.access, refresh: renewed.refresh || tokens.refresh, id: renewed.id || tokens.id };
        if (provider.openid && renewed.id !== "") claims = await claimsOf(renewed, undefined);
      }
      const found = await identity(current, claims, asked);
      if (found.subject !== subject)
        throw new LoginRefusal("login_token_invalid", "the renewed token belongs to another user");
      return { identity: found, tokens: current };
    },
  };
}

/** Where visitors are sent. Known without a request. */
export function oauthMetadata(connection: Connection, provider: OAuthProvider) {
  return {
    authorizeUrl: endpointAt(provider.authorizeUrl, connection),
    parameters: provider.parameters?.(connection.refreshes) ?? {},
    scopeSeparator: provider.scopeSeparator ?? " ",
    pkce: provider.pkce,
    nonce: provider.openid !== undefined,
    openid: provider.openid !== undefined,
    otherAccount: provider.otherAccount ?? (provider.openid ? openidOtherAccount : {}),
    title: provider.title,
    url: provider.url,
    issuer: "",
    returnsIssuer: false,
  };
}

/** `<base_url>/<original host><original path>` if the operator configured a base. Nothing else changes the address. */
function endpointAt(url: string, { baseUrl, graphVersion: version }: Connection): string {
  const plain = url.replace("{version}", version === "" ? graphVersion : version);
  return baseUrl === "" ? plain : `${baseUrl.replace(/\/$/, "")}/${plain.slice("https://".length)}`;
}
