import type { Log } from "../../lib/log.ts";
import type { FinishedExchange } from "../http/http-context.ts";

/** Logs exchanges that the edge itself ended, with every decision. Other exchanges are only counted. */
export function makeExchangeLog(log: Log): (exchange: FinishedExchange) => void {
  return (exchange) => {
    const { steps } = exchange;
    if (steps.at(-1)?.answer === undefined) return;
    const { id, method, host, path, status, siteId, routeId, source, trace } = exchange;
    const decisions = steps.map(({ by, outcome, reason }) => `${by} ${outcome}: ${reason}`);
    log.info("request ended at the edge", {
      request: id,
      source,
      method,
      host,
      path,
      status,
      ...(trace !== undefined && { trace: trace.traceId }),
      ...(siteId !== undefined && { site: siteId }),
      ...(routeId !== undefined && { route: routeId }),
      steps: decisions,
    });
  };
}
