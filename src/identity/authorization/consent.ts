/** The person confirms the client, on the login host, where no service can press the button. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { isLoopback } from "../../lib/redirect-uris.ts";
import { audienceOf } from "../guard/bearer.ts";
import type { LoginContext } from "../guard/login-context.ts";
import type { Guard } from "../guard/login-guard.ts";
import { dropCookie } from "../browser/cookies.ts";
import { renderPage } from "../browser/login-pages.ts";
import { sameId } from "../browser/flow.ts";
import { openRequest, openTicket, requestCookie } from "../machines/sealed.ts";
import type { ConsentTicket, PendingRequest } from "../machines/sealed.ts";
import { issuerOf } from "../machines/issuer.ts";
import { machineLoginAt } from "../visits/resource-metadata.ts";
import { redirectToClient, answerRefusalPage } from "./authorization-answers.ts";
import { destinationOf } from "./protocol.ts";

const by = "authorization server";
const maxFormBytes = 16 * 1024;

interface PendingConsent {
  readonly ticket: ConsentTicket;
  readonly text: string;
  readonly request: PendingRequest;
  readonly guard: Guard;
}

export async function receiveConsent(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> {
  const { request } = exchange;
  if (request.method === "GET") {
    const pending = findPending(accountId, new URLSearchParams(request.query).get("ticket") ?? "", exchange, context);
    if (!pending) return answerLost(exchange);
    const mode = pending.guard.options.machines?.consent;
    if (mode === "never") return await approveRequest(pending, false, exchange, context);
    // Another application can take the place of a client on the person's machine (RFC 8252 §8.6).
    const isIdentified = pending.request.redirectUri.startsWith("https:") && !isLoopback(pending.request.redirectUri);
    if (mode === "once" && isIdentified) return await approveRequest(pending, true, exchange, context);
    return renderConsentPage(pending, context);
  }
  const type = request.headers.get("content-type") ?? "";
  const site = request.headers.get("sec-fetch-site");
  if (!/^application\/x-www-form-urlencoded\b/i.test(type) || (site !== undefined && site !== "same-origin")) {
    return answerLost(exchange);
  }
  const form = new URLSearchParams((await exchange.body(maxFormBytes)).toString("latin1"));
  const pending = findPending(accountId, form.get("ticket") ?? "", exchange, context);
  if (!pending) return answerLost(exchange);
  return form.get("decision") === "allow"
    ? await approveRequest(pending, false, exchange, context)
    : await declineRequest(pending, exchange, context);
}

function answerLost(exchange: Exchange): Step {
  return answerRefusalPage(exchange, "consent_lost", "this browser has no such request, or it is too old");
}

/** The ticket counts only in the browser in which the client began, so that nobody can confirm for someone else. */
function findPending(
  accountId: string,
  text: string,
  exchange: Exchange,
  context: LoginContext,
): PendingConsent | undefined {
  const { clock, sealer, siteFor } = context;
  const ticket = openTicket(text, clock.now(), sealer);
  if (!ticket || ticket.accountId !== accountId) return undefined;
  const cookie = cookieNamed(exchange, requestCookie(ticket.authorization));
  const request = cookie === undefined ? undefined : openRequest(cookie, ticket.authorization, clock.now(), sealer);
  if (!request || request.accountId !== accountId || !sameId(request.id, ticket.authorization)) return undefined;
  const site = siteFor(request.host);
  const guard = site && machineLoginAt(site, request.host, request.path)?.guard;
  if (!guard || guard.options.accountId !== accountId || guard.options.realm.tag !== request.realm) return undefined;
  return { ticket, text, request, guard };
}

function cookieNamed(exchange: Exchange, name: string): string | undefined {
  for (const line of exchange.request.headers.getAll("cookie")) {
    for (const pair of line.split(";")) {
      const at = pair.indexOf("=");
      if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
    }
  }
  return undefined;
}

async function approveRequest(
  pending: PendingConsent,
  onlyIfKnown: boolean,
  exchange: Exchange,
  context: LoginContext,
): Promise<Step> {
  const { ticket, request, guard } = pending;
  const { machines } = guard.options;
  const answer =
    machines &&
    (await context.reports.authorization(request.accountId, {
      name: "approve",
      sessionId: ticket.sessionId,
      approval: {
        clientId: request.clientKey,
        clientName: request.clientTitle,
        redirectUri: request.redirectUri,
        challenge: request.challenge,
        resource: request.resource,
        scopes: request.scopes,
        audience: audienceOf(guard.options, request.host),
        accessTokenMinutes: machines.accessTokenMinutes,
        refreshTokenDays: machines.refreshTokenDays,
        onlyIfKnown,
      },
    }));
  if (answer?.name === "unknown_client") return renderConsentPage(pending, context);
  if (answer === undefined) return answerRefusalPage(exchange, "login_unchecked", "the control plane does not answer");
  if (answer.name !== "code") return answerLost(exchange);
  const { redirectUri, state, accountId } = request;
  return redirectToClient(
    redirectUri,
    { code: answer.code, state, iss: issuerOf(context.settings, accountId) },
    `"${request.clientTitle}" gets a code for ${request.resource}; session ${ticket.sessionId}`,
    [dropCookie(requestCookie(request.id))],
  );
}

async function declineRequest(
  { ticket, request }: PendingConsent,
  exchange: Exchange,
  context: LoginContext,
): Promise<Step> {
  const { redirectUri, state, accountId } = request;
  const answer = await context.reports.authorization(accountId, { name: "decline", sessionId: ticket.sessionId });
  if (answer === undefined) return answerRefusalPage(exchange, "login_unchecked", "the control plane does not answer");
  return redirectToClient(
    redirectUri,
    { error: "access_denied", state, iss: issuerOf(context.settings, accountId) },
    "the person declined",
    [dropCookie(requestCookie(request.id))],
  );
}

/** Shows who gets what. The client chose its name itself, so the page shows where the answer goes, too. */
function renderConsentPage({ ticket, text, request }: PendingConsent, { settings }: LoginContext): Step {
  const { redirectUri } = request;
  const target = new URL(redirectUri);
  const action = `/oauth/${request.accountId}/consent`;
  const fixed = renderPage(
    200,
    {
      title: `Allow "${request.clientTitle}" to use ${request.host}?`,
      lines: [
        `You are signed in as ${ticket.shownAs}. The application will act in your name.`,
        `It asks for: ${request.scopes.join(", ")}. Address: ${request.resource}`,
        `The answer goes to ${destinationOf(redirectUri)}. Continue only if you have just started this from that application.`,
      ],
      form: { action, text: "Allow", fields: { ticket: text, decision: "allow" } },
      otherForm: { action, text: "Cancel", fields: { ticket: text, decision: "deny" } },
      // Browsers apply form-action to the redirect that follows as well.
      formTargets: target.protocol === "https:" || target.protocol === "http:" ? target.origin : target.protocol,
    },
    { "x-frame-options": "DENY" },
  );
  return answerStep(by, `${issuerOf(settings, request.accountId)} asks ${ticket.shownAs} for consent`, fixed);
}
