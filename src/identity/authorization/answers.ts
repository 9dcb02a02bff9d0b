/** Answers of the authorization server. */
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { answered } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { refusalAnswer } from "../browser/pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { turnedAway } from "../browser/step.ts";
import { openToBrowsers } from "../visits/resource-metadata.ts";
import { clientAddress, errorBody } from "./protocol.ts";

const by = "authorization server";

/** @param cache value of Cache-Control */
export function json(status: number, value: object, why: string, cache = "no-store"): Step {
  const headers = { ...openToBrowsers, "content-type": "application/json", "cache-control": cache };
  return answered(by, why, { status, headers, body: `${JSON.stringify(value)}\n` });
}

/** RFC 6749 §5.2. */
export function jsonError(status: number, error: string, description: string): Step {
  return json(status, errorBody({ error, description }), `${error}: ${description}`);
}

export function noContent(why: string): Step {
  return answered(by, why, { status: 204, headers: openToBrowsers, body: "" });
}

/** An error that must not reach the client's redirect URI, because the URI was not verified. */
export function refusedPage(exchange: Exchange, errorName: RefusalName, why: string): Step {
  const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), note: why, details: { reason: why } };
  return turnedAway(by, why, refusalAnswer(errorName, shown));
}

/** A redirect to a verified URI. */
export function backToClient(
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
  return answered(by, why, { status: 303, headers, body: "" });
}
