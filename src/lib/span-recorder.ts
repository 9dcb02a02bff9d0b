/** Records what this server did and how long it took, for tracing. */
export interface SpanRecorder {
  record(span: RecordedSpan): void;
}

export interface RecordedSpan {
  /** Few different names; details are attributes. */
  readonly name: string;
  /** `server`: on request of a client. `client`: a request to another server. */
  readonly kind: "server" | "client" | "internal";
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed. Undefined if it did not fail. */
  readonly error: string | undefined;
  /** Names as in OpenTelemetry's semantic conventions. */
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The client's field of that name. */
  readonly traceparent?: string | undefined;
}
