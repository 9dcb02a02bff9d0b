/** List of all observers of finished traffic. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Moments } from "../../lib/moments.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { ConnectionTrace, RequestTrace } from "../../routing/planes/edge-questions.ts";
import type { RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { ClosedConnection } from "../connections/closed-connection.ts";
import type { FinishedExchange } from "../http/http-context.ts";
import { makeAccessLog } from "./access/access-log.ts";
import type { AccessLog, AccessOptions } from "./access/access-log.ts";
import { makeCapture } from "./capture/capture.ts";
import type { Capture, CaptureOptions } from "./capture/capture.ts";
import { makeExchangeLog } from "./exchange-log.ts";
import { makeFailingRoutes } from "./failing-routes.ts";
import type { FailingRoutes } from "./failing-routes.ts";
import { connectionTraces } from "./connection-traces.ts";
import { requestTraces } from "./request-traces.ts";
import { defaultTraceLimits, makeTraces } from "./traces.ts";
import type { TraceLimits, Traces } from "./traces.ts";
import { makeTallies } from "./tallies.ts";
import type { Tracing } from "./tracing.ts";
import type { Tallies } from "./tallies.ts";
import { makeTrafficReports } from "./traffic-reports.ts";
import type { TrafficReportLimits, TrafficReports } from "./traffic-reports.ts";

export interface ObserversOptions {
  readonly table: RoutingTable;
  /** Sends a message to the control plane. */
  readonly send: (message: Upward) => void;
  readonly clock: Clock;
  readonly moments: Moments;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Absent without telemetry. */
  readonly tracing?: Tracing | undefined;
  /** Absent without a thread that writes captured requests. */
  readonly capture?: Pick<CaptureOptions, "line" | "isDefault" | "place" | "random"> | undefined;
  readonly settings: AccessOptions & {
    readonly limits?: {
      readonly traces?: Partial<TraceLimits>;
      readonly trafficReports?: Partial<TrafficReportLimits>;
    };
  };
}

export interface Observers {
  readonly traffic: TrafficReports;
  readonly tallies: Tallies;
  readonly traces: AllTraces;
  readonly failing: FailingRoutes;
  /** Absent without an access log. */
  readonly access: AccessLog | undefined;
  /** Absent without a thread that writes captured requests. */
  readonly capture: Capture | undefined;
  /** Passes an exchange to all observers. */
  readonly exchangeFinished: (exchange: FinishedExchange) => void;
  readonly connectionClosed: (connection: ClosedConnection) => void;
}

export interface AllTraces {
  readonly requests: Traces<FinishedExchange, RequestTrace>;
  readonly connections: Traces<ClosedConnection, ConnectionTrace>;
}

/** Upper bounds of the buckets, seconds. */
const durationBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function makeObservers(options: ObserversOptions): Observers {
  const { table, send, clock, moments, log, metrics, tracing, settings } = options;
  const { limits = {}, accessLines } = settings;
  const capture = options.capture && makeCapture({ ...options.capture, table, clock, metrics });
  const access = accessLines && makeAccessLog({ settings, write: accessLines, clock, metrics });
  const traffic = makeTrafficReports({ send, clock, metrics, limits: limits.trafficReports ?? {} });
  const tallies = makeTallies(send, clock);
  const logExchange = makeExchangeLog(log);
  const traceLimits = { ...defaultTraceLimits, ...limits.traces };
  const times = { now: () => clock.now(), monotonic: () => moments.present.monotonic };
  const requests = makeTraces(requestTraces, times, traceLimits);
  const connections = makeTraces(connectionTraces, times, traceLimits);
  const durations = metrics.histogram(
    "postern_request_duration_seconds",
    "Time from a request's header to the end of its response. Upgraded connections count until they end.",
    durationBounds,
  );
  const failing = makeFailingRoutes(table, (problems) => send({ type: "problems", problems }));
  return {
    traffic,
    tallies,
    traces: { requests, connections },
    failing,
    access,
    capture,
    exchangeFinished(exchange) {
      tracing?.note(exchange);
      durations.observe(exchange.durationMs / 1000, exchange.trace);
      logExchange(exchange);
      requests.note(exchange);
      traffic.request(exchange);
      tallies.request(exchange);
      access?.note(exchange);
      capture?.note(exchange);
    },
    connectionClosed(connection) {
      connections.note(connection);
      traffic.connection(connection);
      tallies.connection(connection);
    },
  };
}
