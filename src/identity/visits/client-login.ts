/** The login of a person for a client that is not a browser, on the host that has the login. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { beginLogin } from "../guard/begin.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { openLink } from "../machines/sealed.ts";
import { loginHeaders, refusalAnswer } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { turnAway } from "../browser/turn-away.ts";
import { runEarlierModules } from "./finish.ts";
import { machineLoginAt } from "./resource-metadata.ts";

/**
 * Starts a login that creates no browser session, whatever session the browser has. So the provider names the person
 * anew, and the client's grant does not depend on the browser's cookie.
 */
export async function logInForClient(site: LoginSite, exchange: Exchange, context: LoginContext): Promise<Step> {
  const { request } = exchange;
  if (request.method !== "GET") {
    const headers = { ...loginHeaders, allow: "GET" };
    return answerStep("login", "the method is not supported here", { status: 405, headers, body: "" });
  }
  const text = new URLSearchParams(request.query).get("request") ?? "";
  const link = openLink(text, context.clock.now(), context.sealer);
  const found = link?.host === request.host ? machineLoginAt(site, request.host, link.path) : undefined;
  if (!link || !found || found.guard.options.realm.tag !== link.realm || request.scheme !== "https") {
    const answer = refusalAnswer("consent_lost", { requestId: exchange.id, asPage: wantsPage(request) });
    return turnAway("login", "the link is not from this server, is too old, or is for another route", answer);
  }
  const { guard, route } = found;
  const refused = await runEarlierModules(route, guard, exchange, link.path);
  if (refused) return refused;
  return await beginLogin(guard, context, exchange, {
    returnPath: link.path,
    why: "a client asks for access",
    authorization: link.authorization,
  });
}
