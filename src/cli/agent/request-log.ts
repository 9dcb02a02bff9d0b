import type { Log } from "../../lib/log.ts";
import type { WatchedRequest } from "../../agent/request-watch.ts";
import { toPrintable } from "../terminal/request-line.ts";

/** Maximum number of requests logged per second. For further requests, only their number is logged. */
const perSecond = 100;

/** Logs the requests of an agent. A limit keeps logging cheaper than forwarding. */
export function makeRequestLog(log: Log): { add(request: WatchedRequest): void } {
  let logged = 0;
  let left = 0;
  let windowEnd = 0;
  return {
    add(request) {
      if (request.endedAt >= windowEnd) {
        if (left > 0) log.info("requests not logged", { count: left });
        windowEnd = request.endedAt + 1000;
        logged = 0;
        left = 0;
      }
      if (logged >= perSecond) {
        left += 1;
        return;
      }
      logged += 1;
      log.info("request", {
        method: toPrintable(request.method),
        target: toPrintable(request.target),
        status: request.status,
        ms: Math.round(request.durationMs * 10) / 10,
      });
    },
  };
}
