/** A login with an OpenID Connect provider that a tenant names by its issuer. */
import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../calls/fetch.ts";
import type { FetchedAnswer, ProviderFetch } from "../calls/fetch.ts";
import { openidOtherAccount } from "../calls/provider-connection.ts";
import type { Connection, Tokens } from "../calls/provider-connection.ts";
import type { LoginClient } from "../calls/login-client.ts";
import { clientForm, tokenAnswer } from "../calls/token-answer.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Issuer } from "./oidc-discovery.ts";
import { takenUntilMs, verifyIdToken } from "./id-token.ts";
import type { ExpectedToken } from "./id-token.ts";
import { hasClaim, identityOf, keepEarlierClaims } from "./issuer-claims.ts";
import { userinfoOf } from "./userinfo.ts";

export interface IssuerSettings {
  readonly discover: () => Promise<Issuer>;
  readonly fetcher: ProviderFetch;
  readonly now: () => number;
  readonly skewSeconds: number;
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

export function makeIssuerLogin(connection: Connection, settings: IssuerSettings): LoginClient {
  const { discover, fetcher, now, skewSeconds } = settings;
  const { clientId, clientSecret, issuer: issuerUrl, scopes: asked } = connection;

  const expected = (issuer: Issuer, tokens: Tokens, nonce: string | undefined): ExpectedToken => ({
    issuer: issuer.issuer,
    clientId,
    nonce,
    accessToken: tokens.access,
    algorithms: issuer.algorithms,
    nowMs: now(),
    skewSeconds,
  });
  const post = (issuer: Issuer, form: Record<string, string>): Promise<FetchedAnswer> => {
    if (issuer.posts) return fetcher.post(issuer.tokenEndpoint, { ...form, ...clientForm(connection) });
    // RFC 6749 §2.3.1: both are form-encoded first.
    const credentials = Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString("base64");
    return fetcher.post(issuer.tokenEndpoint, form, { authorization: `Basic ${credentials}` });
  };

  const userinfo = (issuer: Issuer, { sub }: JsonObject, tokens: Tokens): Promise<JsonObject> =>
    userinfoOf(String(sub), issuer, expected(issuer, tokens, undefined), fetcher);

  return {
    async metadata() {
      const issuer = await discover();
      return {
        authorizeUrl: issuer.authorizationEndpoint,
        parameters: connection.refreshes && asked.includes("offline_access") ? { prompt: "consent" } : {},
        scopeSeparator: " ",
        pkce: true,
        nonce: true,
        openid: true,
        otherAccount: openidOtherAccount,
        title: new URL(issuerUrl).host,
        url: issuerUrl,
        issuer: issuer.issuer,
        returnsIssuer: issuer.returnsIssuer,
      };
    },
    async login({ code, redirectUri, verifier, nonce }) {
      const issuer = await discover();
      const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
      const { tokens, scopes } = tokenAnswer(await post(issuer, form), asked);
      // A separate message, because a missing token is different from an invalid one.
      if (tokens.id === "") throw new LoginRefusal("login_token_invalid", "the provider returned no id_token");
      const claims = await verifyIdToken(tokens.id, issuer.keys, expected(issuer, tokens, nonce));
      const isWhole = ["email", "name", "groups"].every((name) => hasClaim(claims, name));
      const info = isWhole ? {} : await userinfo(issuer, claims, tokens);
      return { identity: identityOf(claims, info, issuer.issuer), tokens, scopes };
    },
    async renew(tokens, subject) {
      const issuer = await discover();
      let current = tokens;
      let claims: JsonObject = { sub: subject };
      if (tokens.refresh !== "") {
        const form = { grant_type: "refresh_token", refresh_token: tokens.refresh };
        const renewed = tokenAnswer(await post(issuer, form), asked, "refresh").tokens;
        current = { access: renewed.access, refresh: renewed.refresh || tokens.refresh, id: renewed.id || tokens.id };
        if (renewed.id !== "") {
          claims = await verifyIdToken(renewed.id, issuer.keys, expected(issuer, renewed, undefined));
          if (claims["sub"] !== subject)
            throw new LoginRefusal("login_token_invalid", "the renewed token belongs to another user");
        }
      } else if (issuer.userinfoEndpoint === "") {
        throw new LoginRefusal("login_unchecked", "the provider has neither refresh tokens nor userinfo");
      }
      let info = await userinfo(issuer, claims, current);
      if (current.id === tokens.id) info = { ...keepEarlierClaims(tokens.id, subject, info), ...info };
      return { identity: identityOf(claims, info, issuer.issuer), tokens: current };
    },
    async logoutUrl(tokens, returnUrl) {
      const { endSessionEndpoint } = await discover();
      if (endSessionEndpoint === "") return undefined;
      const url = new URL(endSessionEndpoint);
      if (tokens.id !== "") url.searchParams.set("id_token_hint", tokens.id);
      url.searchParams.set("client_id", clientId);
      url.searchParams.set("post_logout_redirect_uri", returnUrl);
      return url.href;
    },
    async loggedOut(token) {
      const issuer = await discover();
      const none = { access: "", refresh: "", id: "" };
      const claims = await verifyIdToken(token, issuer.keys, { ...expected(issuer, none, undefined), logout: true });
      const events = claims["events"];
      const event = typeof events === "object" && events !== null ? (events as JsonObject)[logoutEvent] : undefined;
      const [subject, session, id] = [textOf(claims, "sub"), textOf(claims, "sid"), textOf(claims, "jti")];
      if (typeof event !== "object" || event === null || id === "" || (subject === "" && session === "")) {
        throw new LoginRefusal("login_token_invalid", "the provider's token is rejected: it is not for a logout");
      }
      return { subject, session, id, untilMs: takenUntilMs(claims, skewSeconds) };
    },
  };
}

function formText(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
