/** Every kind of target, by its name in a destination. */
import type { EventTargetName, EventTargetValue } from "../../resources/event-target.ts";
import type { eventDestination } from "../../resources/event-destination.ts";
import type { DocOf } from "../../schema/doc.ts";
import { azureLogsIngestion } from "./targets/azure-logs-ingestion.ts";
import { cloudwatchLogs } from "./targets/aws/cloudwatch-logs.ts";
import { datadog } from "./targets/datadog.ts";
import { file } from "./targets/file.ts";
import { firehose } from "./targets/aws/firehose.ts";
import { kinesis } from "./targets/aws/kinesis.ts";
import type { OperatorKeys } from "./targets/operator-keys.ts";
import type { EventTarget, TargetKind, TargetEnvironment } from "./targets/opened-target.ts";
import { webhook } from "./targets/webhook.ts";

const kinds: { readonly [N in EventTargetName]: TargetKind<N> } = {
  webhook,
  file,
  firehose,
  kinesis,
  cloudwatch_logs: cloudwatchLogs,
  datadog,
  azure_logs_ingestion: azureLogsIngestion,
};

type Destination = Pick<DocOf<typeof eventDestination>, "target">;

/** A target's name and its settings in the destination. */
type Chosen<N extends EventTargetName = EventTargetName> = {
  [M in N]: { readonly name: M; readonly value: EventTargetValue<M> };
}[N];

/** Returns the one member of a destination's target that is set. */
export function targetOf({ target }: Destination): Chosen {
  for (const [name, value] of Object.entries(target)) if (value !== null) return { name, value } as Chosen;
  throw new Error("read target: no target is set");
}

/** Why this server cannot deliver to a destination, as a clause. Undefined if it can. */
export function explainUnavailability(destination: Destination, aws: OperatorKeys | undefined): string | undefined {
  const chosen = targetOf(destination);
  const why = explainUnavailableTarget(chosen, aws);
  return why === undefined ? undefined : `this server cannot deliver to ${chosen.name}: ${why}`;
}

function explainUnavailableTarget<N extends EventTargetName>(
  { name, value }: Chosen<N>,
  aws: OperatorKeys | undefined,
): string | undefined {
  return kinds[name].unavailable?.(value, aws);
}

/** If opening fails, each delivery fails with the reason. */
export function openTarget(destination: Destination, environment: TargetEnvironment): EventTarget {
  try {
    return openChosen(targetOf(destination), environment);
  } catch (error) {
    const limits = { events: 1, bytes: 1, perEvent: 0, eventBytes: Infinity };
    return { limits, deliver: () => Promise.reject(error as Error), close() {} };
  }
}

function openChosen<N extends EventTargetName>(
  { name, value }: Chosen<N>,
  environment: TargetEnvironment,
): EventTarget {
  return kinds[name].open(value, environment);
}
