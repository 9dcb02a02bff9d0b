/** What tracing adds to an exchange. The code that does it is loaded only with tracing. */
import type { ReceivedRequest } from "./received-request.ts";

/** Place of an exchange in a trace. Ids are lower-case hexadecimal digits. */
export interface ExchangeTrace {
  readonly traceId: string;
  /** Id of the exchange's span. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

export interface TracedExchange {
  readonly request: Pick<ReceivedRequest, "headers">;
  trace: ExchangeTrace | undefined;
  sentAt: number | undefined;
}

/** The line of a request's head that tells the upstream its place in the trace. */
export interface TraceLine {
  /** Bytes that `write` writes. */
  readonly lineLength: number;
  /** Returns the end position. */
  write(target: Buffer, start: number): number;
}

export interface RequestTracing {
  /**
   * Notes that the request is sent to an upstream, and removes its `traceparent`. Returns the line that replaces it.
   * Undefined, with nothing removed, if traces are not recorded.
   *
   * @param at see `Clock.monotonic`
   */
  forward(exchange: TracedExchange, at: number): TraceLine | undefined;
}
