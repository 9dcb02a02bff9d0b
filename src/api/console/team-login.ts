/** Console login with the team's identity provider: the code flow with PKCE, state and nonce (I1, P12). */
import type { IncomingMessage } from "node:http";
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { randomText } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { LoginRefusal } from "../../identity/calls/identity.ts";
import type { Tokens } from "../../identity/calls/provider-connection.ts";
import type { Identity } from "../../identity/calls/identity.ts";
import type { ProviderLogout } from "../../identity/calls/login-client.ts";
import { challengeOf } from "../../identity/browser/flow.ts";
import { openOperatorsClient } from "../../identity/oidc/operators-client.ts";
import { flowCookieField, readFlowCookie } from "./cookie.ts";
import type { Person } from "./admitted-people.ts";
import type { TeamVisit } from "./team-visit.ts";
import type { ToldLogOuts } from "./told-log-outs.ts";

export interface TeamLoginOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly skewSeconds: number;
  /** Whether rules use groups. Some providers send groups only on request. */
  readonly wantsGroups: boolean;
  /** PEM of the authorities that issued the provider's certificate. */
  readonly ca: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly toldLogOuts: ToldLogOuts;
}

/** Why a person logs in, besides a session at the console. */
export interface LoginPurpose {
  /** Code of the invitation that the person accepts. */
  readonly invitation?: string;
  /** Id of the session of an application that the person connects. */
  readonly application?: string;
}

export interface FinishedVisit extends TeamVisit, LoginPurpose {}

export interface TeamLogin {
  /** Display name of the provider. */
  readonly title: string;
  /** Returns the redirect and the browser's cookie. Throws `Refusal`. */
  begin(baseUrl: string, purpose?: LoginPurpose): Promise<{ readonly location: string; readonly cookie: string }>;
  /**
   * Returns the user who logged in. Throws `Refusal` unless the same browser began the login and the response is from
   * the configured issuer.
   */
  finish(request: IncomingMessage, query: URLSearchParams, baseUrl: string): Promise<FinishedVisit>;
  /** Returns the provider's current data about a user. Rejects with `LoginRefusal`. */
  again(tokens: Tokens, subject: string): Promise<TeamVisit>;
  /**
   * Verifies the provider's logout token and calls `end` once for it. Rejects with `Refusal` for an invalid or used
   * token. Rejects as `end` does; the provider may then send it again.
   */
  loggedOut(token: string, end: (told: ProviderLogout) => Promise<void>): Promise<void>;
  stop(): void;
}

export const loginPath = "/console/login";
export const callbackPath = "/console/callback";
export const logoutPath = "/console/backchannel-logout";
const scopes = ["openid", "email", "profile"];
/** Maximum duration of a login, seconds. */
const flowSeconds = 600;

export function openTeamLogin(options: TeamLoginOptions): TeamLogin {
  const { issuer, clientId, clientSecret, skewSeconds, wantsGroups, ca, clock, log, toldLogOuts } = options;
  const { client, close } = openOperatorsClient({ issuer, clientId, clientSecret, skewSeconds, ca, clock });
  const refused = (
    error: unknown,
    as: "console_login_failed" | "console_logout_refused" = "console_login_failed",
    what = "log in by",
  ): Refusal => {
    if (error instanceof Refusal) return error;
    if (!(error instanceof LoginRefusal)) throw error;
    // Log the provider's message for the operator.
    log.warn(as === "console_login_failed" ? "login to the console failed" : "logout from the console rejected", {
      reason: error.reason,
      detail: error.message,
    });
    return new Refusal(as, `${what} ${new URL(issuer).host}: ${error.message}`);
  };
  return {
    title: new URL(issuer).host,
    async begin(baseUrl, { invitation = "", application = "" } = {}) {
      const flow = { state: randomText(40), nonce: randomText(40), verifier: randomText(60) };
      try {
        const found = await client.metadata();
        const url = new URL(found.authorizeUrl);
        const asked = {
          response_type: "code",
          client_id: clientId,
          redirect_uri: baseUrl + callbackPath,
          scope: [...scopes, ...(wantsGroups ? ["groups"] : [])].join(" "),
          state: flow.state,
          nonce: flow.nonce,
          code_challenge: challengeOf(flow.verifier),
          code_challenge_method: "S256",
        };
        for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
        const text = [flow.state, flow.nonce, flow.verifier, invitation, application].join(".").replace(/\.+$/, "");
        return { location: url.href, cookie: flowCookieField(baseUrl, text, flowSeconds) };
      } catch (error) {
        throw refused(error);
      }
    },
    async finish(request, query, baseUrl) {
      const cookie = readFlowCookie(request, baseUrl) ?? "";
      const [state = "", nonce = "", verifier = "", invitation = "", application = ""] = cookie.split(".");
      if (state === "" || !isSame(query.get("state") ?? "", state)) {
        throw new Refusal("console_login_failed", "log in: the login started in another browser, or too long ago");
      }
      try {
        const { returnsIssuer, issuer: named } = await client.metadata();
        const from = query.get("iss");
        // RFC 9207 §2.4: a response from another issuer is a mix-up attack.
        if (from === null ? returnsIssuer : from !== named) {
          throw new LoginRefusal("login_elsewhere", "the answer is from another issuer");
        }
        const code = query.get("code") ?? "";
        if (code === "") {
          const said = JSON.stringify((query.get("error") ?? "nothing").slice(0, 100));
          throw new LoginRefusal("login_provider_error", `the provider answered ${said}`);
        }
        const exchange = { code, verifier, nonce, redirectUri: baseUrl + callbackPath };
        const { identity, tokens } = await client.login(exchange);
        const purpose = { ...(invitation !== "" && { invitation }), ...(application !== "" && { application }) };
        return { person: personOf(identity), tokens, ...purpose };
      } catch (error) {
        throw refused(error);
      }
    },
    async again(tokens, subject) {
      const { identity, tokens: renewed } = await client.renew(tokens, subject);
      return { person: personOf(identity), tokens: renewed };
    },
    async loggedOut(token, end) {
      try {
        const logout = (await client.loggedOut?.(token)) as ProviderLogout;
        await toldLogOuts.once(logout.id, logout.untilMs, () => end(logout));
      } catch (error) {
        throw refused(error, "console_logout_refused", "log out by");
      }
    },
    stop: close,
  };
}

function personOf({ subject, email, emailVerified, name, memberships, providerSession }: Identity): Person {
  return { subject, email, emailVerified, name, memberships, providerSession };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
