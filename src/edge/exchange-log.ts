import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { FinishedExchange } from "./http/context.ts";
import { makeRate } from "../lib/rate.ts";

/** Lines a second, and at once (D10). */
const rate = { perSecond: 50, burst: 500 };

/** Logs exchanges that the edge itself ended, with every decision on the way; the rest only counts. */
export function makeExchangeLog(log: Log, clock: Clock): (exchange: FinishedExchange) => void {
  const lines = makeRate(rate.perSecond, rate.burst, () => clock.monotonic());
  let unlogged = 0;
  return ({ id, method, host, path, status, siteId, routeId, source, steps }) => {
    const decided = steps.at(-1);
    if (decided?.answer === undefined) return;
    if (!lines.take()) {
      unlogged += 1;
      return;
    }
    const trace = steps.map(({ by, outcome, reason }) => `${by} ${outcome}: ${reason}`);
    log.info("request ended at the edge", {
      request: id,
      source,
      method,
      host,
      path,
      status,
      ...(siteId !== undefined && { site: siteId }),
      ...(routeId !== undefined && { route: routeId }),
      steps: trace,
      ...(unlogged > 0 && { unlogged }),
    });
    unlogged = 0;
  };
}
