/**
 * The Single Logout Service: ends the sessions that the provider ends, and receives its answers to our logout requests.
 */
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { renderLoggedOutPage } from "../visits/leave.ts";
import { answerRedirect, renderPage } from "../browser/login-pages.ts";
import type { LogoutOutcome } from "../saml/logout/verify-logout.ts";
import type { ClaimMessage } from "../saml/response/work.ts";
import { originOf } from "../browser/login-settings.ts";
import { claimFor, formOf } from "./addressed-route.ts";
import type { AddressedRoute } from "./addressed-route.ts";
import { hostOfCode } from "./host-code.ts";

type LogoutRequest = Extract<LogoutOutcome, { request: unknown }>["request"];

export async function logoutService(at: AddressedRoute): Promise<Step> {
  const { exchange, method, place, context } = at;
  const { request } = exchange;
  const delivery =
    request.method === "GET"
      ? ({ binding: "redirect", query: request.query.slice(1) } as const)
      : ({ binding: "post", form: await formOf(exchange, "saml_logout_message") } as const);
  const received = await method.heard(delivery, claimMessage(at));
  if ("request" in received) return await endSessions(at, received.request);
  const { host: code, ended: outcome } = received.response;
  const host = hostOfCode(code, place.site.hosts);
  const back = host === undefined ? undefined : `${originOf(host, context.settings.httpsPort())}/`;
  const why = `${method.title} reported that ${outcome} of its sessions have ended`;
  if (outcome === "all") return answerStep(method.kind, why, renderLoggedOutPage(back));
  const lines = [`${method.title} did not end all of your sessions. Log out there too, or close your browser.`];
  return answerStep(method.kind, why, renderPage(200, { title: "You are logged out of this site.", lines }));
}

/** Ending a session twice is harmless, so an unreachable control plane does not block a logout. */
function claimMessage(at: AddressedRoute): ClaimMessage {
  const once = claimFor(at);
  return async (message) => {
    const outcome = await once(message);
    return outcome === "unknown" ? "first" : outcome;
  };
}

/**
 * Ends the route's sessions of this name, regardless of the request's cookies, because the provider signed the message.
 */
async function endSessions(
  { exchange, context, guard, method }: AddressedRoute,
  { id, name, sessionIndexes, relayState }: LogoutRequest,
): Promise<Step> {
  const isMeant = (index: string): boolean =>
    sessionIndexes.length === 0 || index === "" || sessionIndexes.includes(index);
  const meant = context.sessions
    .ofSubject(name.nameId)
    .filter(({ record }) => guard.isOwn(record) && isMeant(record.identity.providerSession));
  for (const session of meant) context.end(session, "provider_logged_out", exchange);
  const why = `${method.title} logs ${name.nameId} out: ended ${meant.length} sessions`;
  const answer = await method.logoutAnswer(id, relayState);
  if (answer === undefined) return answerStep(method.kind, why, renderLoggedOutPage(undefined));
  return answerStep(method.kind, why, typeof answer === "string" ? answerRedirect(303, answer) : answer);
}
