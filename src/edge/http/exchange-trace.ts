/** What tracing adds to an exchange. The code that does it is loaded only with tracing. */
import type { ReceivedRequest } from "./received-request.ts";

/** Place of an exchange in a trace. Ids are lower-case hexadecimal digits. */
export interface ExchangeTrace {
  readonly traceId: string;
  /** Id of the exchange's own span. */
  readonly spanId: string;
  /** Id of the client's span. Undefined if the trace begins here. */
  readonly parentId: string | undefined;
  /** The client's `tracestate`. */
  readonly state: string | undefined;
  readonly isSampled: boolean;
  /** Id of the span of the last forwarding, which the upstream got as its parent. */
  upstreamSpanId: string | undefined;
}

export interface TracedExchange {
  readonly request: Pick<ReceivedRequest, "headers">;
  trace: ExchangeTrace | undefined;
  sentAt: number | undefined;
}

export interface RequestTracing {
  /**
   * Notes that the request is sent to an upstream. Replaces its `traceparent`: returns the line with the edge's own, or
   * "" if traces are not recorded.
   *
   * @param at see `Clock.monotonic`
   */
  forward(exchange: TracedExchange, at: number): string;
}
