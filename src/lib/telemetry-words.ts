/** The vocabulary of OpenTelemetry that settings use. */
export const signals = ["traces", "metrics", "logs"] as const;
export type Signal = (typeof signals)[number];

/** What can be sent: the signals, and a log record for each finished request. */
export const exportedParts = [...signals, "access_log"] as const;
export type ExportedPart = (typeof exportedParts)[number];

export const samplerNames = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export interface Sampling {
  readonly sampler: (typeof samplerNames)[number];
  /** Share of the traces that a sampler with a ratio records, from 0 to 1. */
  readonly ratio: number;
}

export const exportProtocols = ["http/protobuf", "http/json"] as const;
export type ExportProtocol = (typeof exportProtocols)[number];

export const exportCompressions = ["none", "gzip"] as const;
export type ExportCompression = (typeof exportCompressions)[number];
