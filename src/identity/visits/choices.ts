/** The logins of a host, for visitors who log in without naming one. With several, the visitor chooses. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { routeOf } from "./finish.ts";
import { Guard } from "../guard/login-guard.ts";
import { loginHeaders, renderPage } from "../browser/login-pages.ts";
import { wantsJson } from "../browser/request-kind.ts";
import { originOf } from "../browser/login-settings.ts";

/** A login and its destination. */
export interface Choice {
  readonly guard: Guard;
  /** A path of a route that requires it. */
  readonly path: string;
}

const maxChoices = 20;

/** One per realm, in route order, with the realm's shortest path. */
export function choicesAt(site: LoginSite, host: string, { placeOf }: LoginContext): readonly Choice[] {
  const byRealm = new Map<string, Choice>();
  for (const guard of site.logins ?? []) {
    if (!(guard instanceof Guard)) continue;
    const place = placeOf(guard.options.ownerId);
    if (place && place.host !== "" && place.host !== host) continue;
    const path = place?.path ?? "/";
    // Skips paths that another route handles.
    if (!routeOf(site, guard, path, host)) continue;
    const { tag } = guard.options.realm;
    const known = byRealm.get(tag);
    if (!known || path.length < known.path.length) byRealm.set(tag, { guard, path });
  }
  return [...byRealm.values()].slice(0, maxChoices);
}

/** Names providers but no routes, because visitors who are not logged in must not learn paths. */
export function choicePage(choices: readonly Choice[], exchange: Exchange, { settings }: LoginContext): Step {
  const { request } = exchange;
  const ways = choices.map(({ guard: { options } }) => ({
    provider: options.method.title,
    path: `/.postern/login?realm=${options.realm.tag}`,
  }));
  const why = `${ways.length} ways to log in: the visitor chooses`;
  if (wantsJson(request)) {
    const origin = originOf(request.host, settings.httpsPort());
    const logins = ways.map(({ provider, path }) => ({ provider, login_url: origin + path }));
    const headers = { ...loginHeaders, "content-type": "application/json" };
    return answerStep("login", why, { status: 200, headers, body: `${JSON.stringify({ logins })}\n` });
  }
  const links = ways.map(({ provider, path }) => ({ text: `Log in with ${provider}`, href: path }));
  return answerStep("login", why, renderPage(200, { title: "How do you want to log in?", lines: [], links }));
}
