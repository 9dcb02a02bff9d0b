import { pathFits, stepsFit } from "../../capture/query.ts";
import { codeOf, outcomeOf, stepReports } from "../../routing/planes/edge-questions.ts";
import type { RequestTrace } from "../../routing/planes/edge-questions.ts";
import type { FinishedExchange } from "../http/http-context.ts";
import type { TraceKind } from "./traces.ts";

/** Maximum number of stored characters of a path. */
const maxPath = 2048;

export const requestTraces: TraceKind<FinishedExchange, RequestTrace> = {
  accountOf: ({ accountId }) => accountId,
  isEnded: ({ cutShort, steps }) => cutShort || steps.at(-1)?.answer !== undefined,
  fits: ({ status, source, path, steps, user }, filter) =>
    (filter.status === undefined || filter.status === status) &&
    (filter.sourceIp === undefined || filter.sourceIp === source) &&
    (filter.user === undefined || filter.user === user) &&
    pathFits(path, filter.path) &&
    stepsFit(steps, filter),
  namesOf: ({ id, method, host, path, source, status }) => `${id} ${method} ${host}${path} ${source} ${status}`,
  traceOf(exchange, endedAt) {
    const {
      id,
      method,
      host,
      path,
      source,
      siteId = "",
      routeId,
      tunnel,
      status,
      bytesIn,
      bytesOut,
      waitedMs,
      cutShort,
      steps,
    } = exchange;
    const last = steps.at(-1);
    return {
      id,
      traceId: exchange.trace?.traceId,
      endedAt,
      method,
      host,
      path: path.slice(0, maxPath),
      source,
      siteId,
      routeId,
      user: exchange.login && (exchange.login.email || exchange.login.session?.userId || exchange.login.subject),
      tunnel,
      outcome: cutShort ? "failed" : outcomeOf(last, last?.answer, status),
      status,
      errorCode: codeOf(last?.answer),
      durationMs: toMicroseconds(exchange.durationMs),
      upstreamMs: waitedMs === undefined ? undefined : toMicroseconds(waitedMs),
      bytesIn,
      bytesOut,
      cutShort,
      steps: stepReports(steps),
    };
  },
};

/** Rounds milliseconds to microseconds. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
