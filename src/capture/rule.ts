/** How the requests of one place are captured. */
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

/** The `capture` of an account, edge, route or endpoint. */
export interface CaptureSetting {
  readonly enabled: boolean;
  readonly sample: number;
  readonly hours: number;
  readonly redact_headers: readonly string[];
  readonly redact_query: readonly string[];
  readonly body_bytes: number;
}

/** What the server does by itself where its default is to capture. */
const usual: CaptureSetting = Object.freeze({
  enabled: true,
  sample: 1,
  hours: 24,
  redact_headers: [],
  redact_query: [],
  body_bytes: 0,
});

export function ruleOf(setting: Partial<CaptureSetting>): CaptureRule {
  const { enabled, sample, hours, redact_headers, redact_query, body_bytes } = { ...usual, ...setting };
  return {
    enabled,
    sample,
    hours,
    redactHeaders: redact_headers,
    redactQuery: redact_query,
    bodyBytes: body_bytes,
  };
}

/** The part of a rule that applies when a record is written. */
export type WritingRule = Pick<CaptureRule, "hours" | "redactHeaders" | "redactQuery">;

/** Returns that part as text, which accompanies a record to the capture thread. */
export function noteOf({ hours, redactHeaders, redactQuery }: WritingRule): string {
  return JSON.stringify({ hours, redactHeaders, redactQuery } satisfies WritingRule);
}

export function ruleOfNote(note: string): WritingRule {
  return JSON.parse(note) as WritingRule;
}
