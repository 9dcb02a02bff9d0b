/** The development identity provider for OpenID Connect: code flow with PKCE, refresh tokens that work once, logout. */
import { renderDonePage } from "./sign-in-pages.ts";
import { clientId, makeTokens } from "./openid-tokens.ts";
import type { ProviderServices } from "./provider-services.ts";
import { replyJson, replyText, seeOther } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";
import type { SignInResult } from "./sign-ins.ts";

const callbackPath = /^\/oauth2\/callback(?:\/([a-z0-9]{1,32}))?$/;

export interface OpenId {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Returns undefined for a path that it does not serve. */
  answer(asked: ProviderRequest): ProviderReply | undefined;
}

export function makeOpenId({ issuer, now, keys, signIns, ours, tell }: ProviderServices, clientSecret: string): OpenId {
  const tokens = makeTokens({ issuer, now, keys, signIns }, clientSecret);

  const authorize = (asked: ProviderRequest): ProviderReply => {
    const given = (name: string): string => asked.query.get(name) ?? "";
    const redirectUri = given("redirect_uri");
    const callback = URL.parse(redirectUri);
    const path = callback ? callbackPath.exec(callback.pathname) : undefined;
    // Only this server's callback gets a code or an error.
    if (!callback || callback.origin !== ours() || !path)
      return replyText(400, "The redirect_uri does not belong to this server.");
    if (given("client_id") !== clientId) return replyText(400, "The client_id is unknown.");
    const back = (parameters: Readonly<Record<string, string>>): ProviderReply => {
      const url = new URL(callback);
      for (const [name, value] of Object.entries({ ...parameters, state: given("state"), iss: issuer })) {
        url.searchParams.set(name, value);
      }
      return seeOther(url.href);
    };
    if (given("response_type") !== "code") return back({ error: "unsupported_response_type" });
    if (given("code_challenge_method") !== "S256" || given("code_challenge") === "") {
      return back({ error: "invalid_request", error_description: "PKCE with S256 is required" });
    }
    const prompts = given("prompt").split(" ");
    const current = signIns.of(asked);
    const maxAge = Number(given("max_age") || Infinity);
    const anew =
      prompts.includes("login") ||
      prompts.includes("select_account") ||
      (current !== undefined && now() - current.at >= maxAge * 1000);
    if (prompts.includes("none") && (!current || anew)) return back({ error: "login_required" });
    const finish = (outcome: SignInResult): ProviderReply => {
      if (outcome === "denied")
        return back({ error: "access_denied", error_description: "the visitor denied the login" });
      if (outcome === "failed") return back({ error: "server_error", error_description: "on request" });
      const [, tag] = path;
      const code = tokens.newCode({
        person: outcome.person,
        signIn: outcome,
        scope: given("scope"),
        nonce: asked.query.get("nonce"),
        redirectUri,
        challenge: given("code_challenge"),
        madeAt: now(),
      });
      if (tag !== undefined) {
        outcome.ends.set(tag, () =>
          tell(`/oidc/${tag}/backchannel-logout`, { logout_token: tokens.logoutToken(outcome) }),
        );
      }
      return back({ code });
    };
    return signIns.want(asked, { client: "a service of this server", anew, finish });
  };

  /** OpenID Connect RP-Initiated Logout 1.0 §2. */
  const endSession = (asked: ProviderRequest): ProviderReply => {
    const current = signIns.of(asked);
    if (current) signIns.end(current);
    const to = asked.query.get("post_logout_redirect_uri") ?? "";
    if (URL.parse(to)?.origin !== ours()) return renderDonePage("Logged out", "You are logged out here.");
    const url = new URL(to);
    const state = asked.query.get("state");
    if (state !== null) url.searchParams.set("state", state);
    return seeOther(url.href);
  };

  const answers: Readonly<Record<string, (asked: ProviderRequest) => ProviderReply>> = {
    "GET /.well-known/openid-configuration": () => replyJson(200, configurationOf(issuer)),
    "GET /jwks": () => replyJson(200, { keys: keys.published().map(({ jwk }) => jwk) }),
    "GET /authorize": authorize,
    "POST /token": tokens.token,
    "GET /userinfo": tokens.userinfo,
    "GET /end-session": endSession,
  };
  return { clientId, clientSecret, answer: (asked) => answers[`${asked.method} ${asked.path}`]?.(asked) };
}

/** OpenID Connect Discovery 1.0 §3. */
function configurationOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    end_session_endpoint: `${issuer}/end-session`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["openid", "profile", "email", "groups", "offline_access"],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  };
}
