/** What a configuration decided about a recorded request, and how two decisions differ. */
import { codeOf, outcomeOf, stepReports } from "../routing/planes/edge-questions.ts";
import type { ExchangeOutcome } from "../routing/planes/edge-questions.ts";
import type { ReplayedDecision, DifferenceKind } from "../routing/planes/backtests.ts";
import type { ReplayedExchange } from "./replayed-exchange.ts";

export const differenceKinds: readonly DifferenceKind[] = [
  "allowed_to_denied",
  "denied_to_allowed",
  "other_route",
  "other_backend",
  "other_status",
  "other_headers",
];

const loginModules: ReadonlySet<string> = new Set(["oauth", "oidc", "saml"]);

export function outcomeFrom({ steps, ending, status }: ReplayedExchange): ExchangeOutcome {
  return outcomeOf(steps.at(-1), ending, status);
}

export function decisionOf(exchange: ReplayedExchange): ReplayedDecision {
  return {
    outcome: outcomeFrom(exchange),
    status: exchange.status,
    errorCode: codeOf(exchange.ending),
    routeId: exchange.routeId,
    backendId: exchange.chosen?.id,
    steps: stepReports(exchange.steps),
  };
}

/** Whether the visitor got what was asked for. A login comes first, and an error page is a refusal. */
export function isAllowed(exchange: ReplayedExchange): boolean {
  const { ending, chosen, steps } = exchange;
  if (ending === undefined) return true;
  if ("error" in ending) return false;
  // The response of a backend is what the visitor asked for, whatever its status.
  if (chosen?.answer === ending) return true;
  if (steps.some(({ by, answer }) => answer !== undefined && loginModules.has(by))) return false;
  return steps.at(-1)?.outcome !== "denied" && ending.status < 400;
}

/** Returns the most important difference; undefined if both decisions are the same. */
export function differenceOf(before: ReplayedExchange, after: ReplayedExchange): DifferenceKind | undefined {
  const wasAllowed = isAllowed(before);
  const isNowAllowed = isAllowed(after);
  if (wasAllowed !== isNowAllowed) return wasAllowed ? "allowed_to_denied" : "denied_to_allowed";
  // The refusal comes before the route, or from it: either way, the visitor sees the same.
  if (before.routeId !== after.routeId && isNowAllowed) return "other_route";
  const [one, other] = [before.chosen?.id, after.chosen?.id];
  if (isNowAllowed && one !== undefined && other !== undefined && one !== other) return "other_backend";
  const areKnown = before.status !== 0 && after.status !== 0;
  if (areKnown && before.status !== after.status) return "other_status";
  if (codeOf(before.ending) !== codeOf(after.ending)) return "other_status";
  return isNowAllowed && differsInFields(before, after) ? "other_headers" : undefined;
}

function differsInFields(before: ReplayedExchange, after: ReplayedExchange): boolean {
  if (before.request.upstreamTarget !== after.request.upstreamTarget) return true;
  if (!sameEnding(before, after)) return true;
  if (!sameBody(before.newBody, after.newBody)) return true;
  return before.sentFields !== after.sentFields || before.answeredFields !== after.answeredFields;
}

function sameBody(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

function sameEnding({ ending: one }: ReplayedExchange, { ending: other }: ReplayedExchange): boolean {
  if (one === undefined || other === undefined || "error" in one || "error" in other) return true;
  return JSON.stringify(one.headers) === JSON.stringify(other.headers) && String(one.body) === String(other.body);
}
