/** Every kind of target, by its name in a destination. */
import type { Doc } from "../../schema/doc.ts";
import { azureLogsIngestion } from "./targets/azure-logs-ingestion.ts";
import { cloudwatchLogs } from "./targets/aws/cloudwatch-logs.ts";
import { datadog } from "./targets/datadog.ts";
import { file } from "./targets/file.ts";
import { firehose } from "./targets/aws/firehose.ts";
import { kinesis } from "./targets/aws/kinesis.ts";
import type { OperatorKeys } from "./targets/operator-keys.ts";
import type { Target, TargetKind, TargetSurroundings } from "./targets/target.ts";
import { webhook } from "./targets/webhook.ts";

const kinds: Readonly<Record<string, TargetKind>> = {
  webhook,
  file,
  firehose,
  kinesis,
  cloudwatch_logs: cloudwatchLogs,
  datadog,
  azure_logs_ingestion: azureLogsIngestion,
};

/** The one member of a destination's target that is set. */
export function targetOf(doc: Doc): { readonly name: string; readonly value: Doc } {
  for (const [name, value] of Object.entries(doc["target"] as Doc)) {
    if (value !== null) return { name, value: value as Doc };
  }
  throw new Error("read target: none is set");
}

/** Why this server cannot deliver to a destination, as a clause; undefined when it can. */
export function unavailability(doc: Doc, aws: OperatorKeys | undefined): string | undefined {
  const { name, value } = targetOf(doc);
  const why = kinds[name]?.unavailable?.(value, aws);
  return why === undefined ? undefined : `this server cannot deliver to ${name}: ${why}`;
}

/** A target that cannot be opened says why at each delivery. */
export function openTarget(doc: Doc, surroundings: TargetSurroundings): Target {
  const { name, value } = targetOf(doc);
  try {
    return (kinds[name] as TargetKind).open(value, surroundings);
  } catch (error) {
    const limits = { events: 1, bytes: 1, perEvent: 0, eventBytes: Infinity };
    return { limits, deliver: () => Promise.reject(error as Error), close() {} };
  }
}
