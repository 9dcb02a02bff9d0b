/** The development identity provider as an OpenID provider: code flow with PKCE, refresh tokens that work once, log-out. */
import { hash, timingSafeEqual } from "node:crypto";
import { Lru } from "../lib/lru.ts";
import { donePage } from "./pages.ts";
import type { Person } from "./people.ts";
import type { Services } from "./provider.ts";
import { json, plain, seeOther } from "./reply.ts";
import type { Asked, Reply } from "./reply.ts";
import { newToken } from "./sign-ins.ts";
import type { Outcome, SignIn } from "./sign-ins.ts";
import { halfHash } from "./signing-key.ts";

const clientId = "postern-dev";
const callbackPath = /^\/oauth2\/callback(?:\/([a-z0-9]{1,32}))?$/;
const maxKept = 1_000;
const codeMs = 60_000;
const tokenSeconds = 300;

interface Grant {
  readonly person: Person;
  readonly signIn: SignIn;
  readonly scope: string;
  readonly nonce: string | null;
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly madeAt: number;
}

export interface OpenId {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Undefined: not a path of it. */
  answer(asked: Asked): Reply | undefined;
}

export function makeOpenId({ issuer, now, keys, signIns, ours, tell }: Services): OpenId {
  const clientSecret = newToken();
  const codes = new Lru<string, Code>(maxKept);
  const refreshTokens = new Lru<string, Grant>(maxKept);
  const accessTokens = new Lru<string, Grant>(maxKept);

  const configuration = {
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

  const authorize = (asked: Asked): Reply => {
    const given = (name: string): string => asked.query.get(name) ?? "";
    const redirectUri = given("redirect_uri");
    const callback = URL.parse(redirectUri);
    const path = callback ? callbackPath.exec(callback.pathname) : undefined;
    // To nowhere else: whoever is not ours gets no code and no error either.
    if (!callback || callback.origin !== ours() || !path) return plain(400, "redirect_uri is not of this server.");
    if (given("client_id") !== clientId) return plain(400, "client_id is not known.");
    const back = (parameters: Readonly<Record<string, string>>): Reply => {
      const url = new URL(callback);
      for (const [name, value] of Object.entries({ ...parameters, state: given("state"), iss: issuer })) {
        url.searchParams.set(name, value);
      }
      return seeOther(url.href);
    };
    if (given("response_type") !== "code") return back({ error: "unsupported_response_type" });
    if (given("code_challenge_method") !== "S256" || given("code_challenge") === "") {
      return back({ error: "invalid_request", error_description: "PKCE by S256 is needed" });
    }
    const prompts = given("prompt").split(" ");
    const current = signIns.of(asked);
    const maxAge = Number(given("max_age") || Infinity);
    const anew =
      prompts.includes("login") ||
      prompts.includes("select_account") ||
      (current !== undefined && now() - current.at >= maxAge * 1000);
    if (prompts.includes("none") && (!current || anew)) return back({ error: "login_required" });
    const finish = (outcome: Outcome): Reply => {
      if (outcome === "denied") return back({ error: "access_denied", error_description: "the visitor said no" });
      if (outcome === "failed") return back({ error: "server_error", error_description: "as it was asked to" });
      const code = newToken();
      const [, tag] = path;
      codes.set(code, {
        person: outcome.person,
        signIn: outcome,
        scope: given("scope"),
        nonce: asked.query.get("nonce"),
        redirectUri,
        challenge: given("code_challenge"),
        madeAt: now(),
      });
      if (tag !== undefined) {
        outcome.ends.set(tag, () => tell(`/oidc/${tag}/backchannel-logout`, { logout_token: logoutToken(outcome) }));
      }
      return back({ code });
    };
    return signIns.want(asked, { client: "a service of this server", anew, finish });
  };

  const logoutToken = ({ id, person }: SignIn): string =>
    keys.current.token(
      {
        iss: issuer,
        aud: clientId,
        iat: seconds(now()),
        exp: seconds(now()) + 120,
        jti: newToken(),
        sub: person.id,
        sid: sidOf(id),
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      },
      "logout+jwt",
    );

  const give = (grant: Grant): Reply => {
    const access = newToken();
    accessTokens.set(access, grant);
    const refresh = newToken();
    refreshTokens.set(refresh, grant);
    const at = seconds(now());
    const claims = {
      iss: issuer,
      aud: clientId,
      sub: grant.person.id,
      iat: at,
      exp: at + tokenSeconds,
      auth_time: seconds(grant.signIn.at),
      sid: sidOf(grant.signIn.id),
      at_hash: halfHash(access),
      ...(grant.nonce !== null && { nonce: grant.nonce }),
      ...claimsOf(grant.person),
    };
    return json(200, {
      access_token: access,
      token_type: "Bearer",
      expires_in: tokenSeconds,
      refresh_token: refresh,
      scope: grant.scope,
      id_token: keys.current.token(claims),
    });
  };

  const token = (asked: Asked): Reply => {
    const { form } = asked;
    if (!isClient(asked, clientSecret)) return json(401, { error: "invalid_client" });
    if (form.get("grant_type") === "refresh_token") {
      const given = form.get("refresh_token") ?? "";
      const grant = refreshTokens.get(given);
      refreshTokens.delete(given);
      if (!grant || !signIns.byId(grant.signIn.id)) return json(400, { error: "invalid_grant" });
      return give({ ...grant, nonce: null });
    }
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    const isGood =
      form.get("grant_type") === "authorization_code" &&
      grant !== undefined &&
      now() - grant.madeAt <= codeMs &&
      grant.redirectUri === form.get("redirect_uri") &&
      grant.challenge === challenge;
    return isGood ? give(grant) : json(400, { error: "invalid_grant" });
  };

  const userinfo = ({ authorization }: Asked): Reply => {
    const grant = accessTokens.get(/^Bearer (\S+)$/.exec(authorization)?.[1] ?? "");
    if (!grant || !signIns.byId(grant.signIn.id)) return json(401, { error: "invalid_token" });
    return json(200, { sub: grant.person.id, ...claimsOf(grant.person) });
  };

  /** OpenID Connect RP-Initiated Logout 1.0 §2. */
  const endSession = (asked: Asked): Reply => {
    const current = signIns.of(asked);
    if (current) signIns.end(current);
    const to = asked.query.get("post_logout_redirect_uri") ?? "";
    if (URL.parse(to)?.origin !== ours()) return donePage("Logged out", "You are logged out here.");
    const url = new URL(to);
    const state = asked.query.get("state");
    if (state !== null) url.searchParams.set("state", state);
    return seeOther(url.href);
  };

  const answers: Readonly<Record<string, (asked: Asked) => Reply>> = {
    "GET /.well-known/openid-configuration": () => json(200, configuration),
    "GET /jwks": () => json(200, { keys: keys.published().map(({ jwk }) => jwk) }),
    "GET /authorize": authorize,
    "POST /token": token,
    "GET /userinfo": userinfo,
    "GET /end-session": endSession,
  };
  return { clientId, clientSecret, answer: (asked) => answers[`${asked.method} ${asked.path}`]?.(asked) };
}

function claimsOf({ name, email, isVerified, groups, id }: Person): object {
  return { name, preferred_username: id, groups, ...(email !== "" && { email, email_verified: isVerified }) };
}

/** Basic or by the form (RFC 6749 §2.3.1). */
function isClient({ authorization, form }: Asked, secret: string): boolean {
  const [, basic] = /^Basic (\S+)$/i.exec(authorization) ?? [];
  const [id = "", ...rest] = basic
    ? Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent)
    : [form.get("client_id") ?? "", form.get("client_secret") ?? ""];
  const [given, wanted] = [rest.join(":"), secret].map((text) => Buffer.from(hash("sha256", text, "hex")));
  return id === clientId && timingSafeEqual(given as Buffer, wanted as Buffer);
}

/** Names a session to services, who cannot use it as the cookie. */
function sidOf(id: string): string {
  return hash("sha256", id, "base64url").slice(0, 22);
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
