/** The vocabulary of the access log: formats, and fields of a line in their usual order. */
export const accessFormats = ["json", "logfmt", "combined"] as const;
export type AccessFormat = (typeof accessFormats)[number];

/** Fields of a line unless the operator chooses others. */
export const usualAccessFields = [
  "time",
  "id",
  "source",
  "method",
  "scheme",
  "host",
  "path",
  "http_version",
  "status",
  "outcome",
  "error_code",
  "decided_by",
  "bytes_in",
  "bytes_out",
  "duration_ms",
  "upstream_ms",
  "user",
  "user_agent",
  "referer",
  "site",
  "route",
  "trace_id",
] as const;

/** Fields that only lines with chosen fields have. */
export const otherAccessFields = [
  "query",
  "source_port",
  "account",
  "tunnel",
  "tls_version",
  "tls_cipher",
  "server_name",
  "websocket",
  "cut_short",
] as const;

export const accessFields = [...usualAccessFields, ...otherAccessFields] as const;
export type AccessField = (typeof accessFields)[number];

/** Lines that an edge hands over together. */
export interface AccessBatch {
  /** Whole lines, each with its line break. */
  readonly text: string;
  readonly lines: number;
}

/** What became of a batch. */
export interface AccessWritten {
  /** Length of the batch's text. */
  readonly length: number;
  /** Lines that could not be written. */
  readonly lost: number;
}
