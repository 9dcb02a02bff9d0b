/** Logs a visitor out, here and if possible at the provider. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Answer, FixedAnswer, Step } from "../../traffic/step.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { dropCookie } from "../browser/cookies.ts";
import { guardOf, guardsOf } from "./finish.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { loginHeaders, answerRedirect, renderPage } from "../browser/login-pages.ts";
import { wantsJson } from "../browser/request-kind.ts";
import { isSessionCookie } from "../sessions/login-session.ts";
import type { Session } from "../sessions/login-session.ts";
import { originOf } from "../browser/login-settings.ts";

const by = "login";

export interface Leaving {
  /** Destination of the page. */
  readonly back: string;
  /** Limits the logout to policy rules with this `auth_id`; null for all logins of the host. */
  readonly authId: string | null;
}

export async function leaveSite(
  site: LoginSite,
  exchange: Exchange,
  { back, authId }: Leaving,
  context: LoginContext,
): Promise<Step> {
  const { settings, end, log } = context;
  const origin = originOf(exchange.request.host, settings.httpsPort());
  const asJson = wantsJson(exchange.request);
  if (!isMeant(exchange, origin)) {
    const unsure = "the visitor must confirm a logout that may come from another site";
    const fix = `Send a POST with the Origin ${origin}.`;
    return answerStep(
      by,
      unsure,
      asJson ? answerJson(403, { signed_in: true, fix }) : confirmPage(exchange, back, authId),
    );
  }
  const { isMeant: isLeft, isCookie } = findEnding(site, authId);
  const sessions = sessionsOf(exchange, context).filter(isLeft);
  const cookies = (exchange.loginCookies ?? []).filter((name, at) => at % 2 === 0 && isCookie(name)).map(dropCookie);
  let elsewhere: string | Answer | undefined;
  for (const session of sessions) {
    end(session, "logged_out", exchange);
    const guard = guardOf(site, (one) => one.isOwn(session.record));
    if (elsewhere !== undefined || !guard?.options.method.logout) continue;
    const { accessToken, refreshToken, idToken } = session.record;
    const tokens = { access: accessToken, refresh: refreshToken, id: idToken };
    const done = `${originOf(settings.idpHost, settings.httpsPort())}/logged-out`;
    elsewhere = await guard.options.method.logout(tokens, done, exchange.request.host).catch((error: unknown) => {
      if (!(error instanceof LoginRefusal)) throw error;
      log.info("not logged out of the provider", { request: exchange.id, reason: error.message });
      return undefined;
    });
  }
  const ids = sessions.map(({ record }) => record.id).join(", ");
  const reason = ids === "" ? "there was no session" : `ended ${ids}`;
  if (asJson) {
    // A program cannot forward a form to the provider.
    const reply = { signed_in: false, ...(typeof elsewhere === "string" && { provider_logout_url: elsewhere }) };
    return answerStep(by, reason, withCookies(answerJson(200, reply), cookies));
  }
  if (typeof elsewhere === "string") return answerStep(by, reason, answerRedirect(303, elsewhere, cookies));
  if (elsewhere !== undefined) return answerStep(by, reason, withCookies(elsewhere, cookies));
  return answerStep(by, reason, withCookies(renderLoggedOutPage(back), cookies));
}

/** The sessions and cookies that a logout ends. */
function findEnding(site: LoginSite, authId: string | null) {
  if (authId === null) return { isMeant: () => true, isCookie: () => true };
  const guards = guardsOf(site, ({ options }) => (options.authId ?? "") === authId);
  return {
    isMeant: ({ record }: Session) => guards.some((one) => one.isOwn(record)),
    isCookie: (name: string) =>
      guards.some(({ options: { realm } }) => name === realm.sessionCookie || name.startsWith(realm.flowCookie)),
  };
}

function answerJson(status: number, value: object): FixedAnswer {
  const headers = { ...loginHeaders, "content-type": "application/json" };
  return { status, headers, body: `${JSON.stringify(value)}\n` };
}

export function renderLoggedOutPage(back: string | undefined): FixedAnswer {
  const links = back === undefined ? [] : [{ text: "Log in again", href: back }];
  return renderPage(200, { title: "You are logged out.", lines: ["You can close this page."], links });
}

/** The sessions of the host that the browser holds. */
export function sessionsOf(exchange: Exchange, { sessions }: LoginContext): Session[] {
  const found: Session[] = [];
  for (const [at, value] of (exchange.loginCookies ?? []).entries()) {
    const session = at % 2 === 1 && isSessionCookie(value) ? sessions.find(value) : undefined;
    if (session?.record.host === exchange.request.host) found.push(session);
  }
  return found;
}

/**
 * A POST from the host's own pages, or a navigation that no other host caused. A sibling host is another one, because
 * it may belong to another tenant.
 */
function isMeant({ request }: Exchange, origin: string): boolean {
  const { method, headers } = request;
  const site = headers.get("sec-fetch-site");
  // Extensions may remove the origin. No page can set the other field.
  if (method === "POST") return headers.get("origin") === origin || site === "same-origin";
  return (
    method === "GET" && headers.get("sec-fetch-mode") === "navigate" && (site === "none" || site === "same-origin")
  );
}

function confirmPage({ request }: Exchange, back: string, authId: string | null): Answer {
  const which = authId === null ? "" : `&auth_id=${encodeURIComponent(authId)}`;
  const action = `${request.path}?path=${encodeURIComponent(back)}${which}`;
  return renderPage(
    200,
    {
      title: "Log out?",
      lines: ["You will need to log in again to use this site."],
      form: { action, text: "Log out" },
    },
    {
      // With `no-referrer`, browsers would send the form without its origin (Fetch §3.2).
      "referrer-policy": "same-origin",
      // The answer to the form may redirect to the provider.
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' https: http:; frame-ancestors 'none'; base-uri 'none'",
    },
  );
}

function withCookies(answer: Answer, cookies: readonly string[]): Answer {
  return cookies.length === 0 ? answer : { ...answer, headers: { ...answer.headers, "set-cookie": cookies } };
}
