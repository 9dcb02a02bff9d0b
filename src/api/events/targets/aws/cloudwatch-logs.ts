/** AWS CloudWatch Logs, PutLogEvents, into a log stream named after the destination. */
import type { Event } from "../../event/event.ts";
import { AwsFailure, awsCaller, explainUnavailable } from "./aws-request.ts";
import { NotDelivered } from "../opened-target.ts";
import type { Leftover, TargetKind } from "../opened-target.ts";

const service = { name: "logs", prefix: "Logs_20140328" } as const;
/** AWS limits: 10,000 events and 1 MiB per request with 26 bytes for each; 256 KiB per event. */
const limits = { events: 10_000, bytes: 1024 * 1024, perEvent: 26, eventBytes: 256 * 1024 - 26 } as const;
/** Maximum time span of the events in one request. */
const spanMs = 24 * 60 * 60_000;

export const cloudwatchLogs: TargetKind<"cloudwatch_logs"> = {
  unavailable: explainUnavailable,
  open(value, environment) {
    const { call, arn } = awsCaller(service, value.log_group_arn, value, environment);
    const place = {
      logGroupName: arn.resource.replace(/^log-group:/, "").replace(/:\*$/, ""),
      logStreamName: `postern/${environment.destinationId}`,
    };
    const put = async (events: readonly Event[]): Promise<Readonly<Record<string, unknown>>> => {
      const logEvents = events.map(({ time, body }) => ({ timestamp: Date.parse(time), message: body }));
      logEvents.sort((one, other) => one.timestamp - other.timestamp);
      return await call("PutLogEvents", { ...place, logEvents });
    };
    const makeStream = async (): Promise<void> => {
      try {
        await call("CreateLogStream", place);
      } catch (error) {
        if (!(error instanceof AwsFailure && error.code === "ResourceAlreadyExistsException")) throw error;
      }
    };
    return {
      limits,
      async deliver(events) {
        const [now, later] = splitBySpan(events);
        let answer;
        try {
          answer = await put(now);
        } catch (error) {
          if (!(error instanceof AwsFailure && error.code === "ResourceNotFoundException")) throw error;
          await makeStream();
          answer = await put(now);
        }
        if (answer["rejectedLogEventsInfo"]) throw new NotDelivered("the receiver does not accept events of that time");
        return later;
      },
      close: () => environment.outbound.close(),
    };
  },
};

/** Splits events into one request and the rest. */
function splitBySpan(events: readonly Event[]): readonly [now: readonly Event[], later: Leftover | undefined] {
  let earliest = Infinity;
  let latest = -Infinity;
  const end = events.findIndex(({ time }) => {
    earliest = Math.min(earliest, Date.parse(time));
    latest = Math.max(latest, Date.parse(time));
    return latest - earliest >= spanMs;
  });
  if (end < 0) return [events, undefined];
  return [events.slice(0, end), { events: events.slice(end), why: undefined }];
}
