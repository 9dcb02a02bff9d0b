/** Answers of the authorization server. */
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { refusalAnswer } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { turnAway } from "../browser/turn-away.ts";
import { openToBrowsers } from "../visits/resource-metadata.ts";
import { clientAddress, errorBody } from "./protocol.ts";

const by = "authorization server";

/** @param cache value of Cache-Control */
export function answerJson(status: number, value: object, why: string, cache = "no-store"): Step {
  const headers = { ...openToBrowsers, "content-type": "application/json", "cache-control": cache };
  return answerStep(by, why, { status, headers, body: `${JSON.stringify(value)}\n` });
}

/** RFC 6749 §5.2. */
export function jsonError(status: number, error: string, description: string): Step {
  return answerJson(status, errorBody({ error, description }), `${error}: ${description}`);
}

export function answerNoContent(why: string): Step {
  return answerStep(by, why, { status: 204, headers: openToBrowsers, body: "" });
}

/** An error that must not reach the client's redirect URI, because the URI was not verified. */
export function answerRefusalPage(exchange: Exchange, errorName: RefusalName, why: string): Step {
  const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), note: why, details: { reason: why } };
  return turnAway(by, why, refusalAnswer(errorName, shown));
}

/** A redirect to a verified URI. */
export function redirectToClient(
  redirectUri: string,
  parameters: Readonly<Record<string, string | undefined>>,
  why: string,
  cookies: readonly string[] = [],
): Step {
  const headers = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    location: clientAddress(redirectUri, parameters),
    ...(cookies.length > 0 && { "set-cookie": cookies }),
  };
  return answerStep(by, why, { status: 303, headers, body: "" });
}
