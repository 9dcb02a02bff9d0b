/** What an operator wants captured at one place: an account, edge, route or endpoint. */
export interface CaptureRule {
  readonly enabled: boolean;
  /** Share of forwarded and answered requests, 0 to 1. Denied and failed ones are always captured unless it is 0. */
  readonly sample: number;
  /** Hours for which requests are kept. */
  readonly hours: number;
  /** Names of further header fields to hash, lower case. */
  readonly redactHeaders: readonly string[];
  /** Names of query parameters to hash. */
  readonly redactQuery: readonly string[];
  /** Bytes of request bodies to keep. */
  readonly bodyBytes: number;
}
