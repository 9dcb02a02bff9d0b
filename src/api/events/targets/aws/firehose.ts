/** AWS Data Firehose, PutRecordBatch. Each event is a line. */
import { awsCaller, explainUnavailable } from "./aws-request.ts";
import { recordFailure } from "./failed-records.ts";
import { collectLeftover } from "../opened-target.ts";
import type { TargetKind } from "../opened-target.ts";

const service = { name: "firehose", prefix: "Firehose_20150804" } as const;
/** AWS limits: 500 records and 4 MiB per request, 1,000 KiB per record. */
const limits = { events: 500, bytes: 4 * 1024 * 1024, perEvent: 1, eventBytes: 1000 * 1024 - 1 } as const;

export const firehose: TargetKind<"firehose"> = {
  unavailable: explainUnavailable,
  open(value, environment) {
    const caller = awsCaller(service, value.delivery_stream_arn, value, environment);
    return {
      limits,
      async deliver(events, ordered) {
        const answer = await caller.call("PutRecordBatch", {
          DeliveryStreamName: caller.arn.resource.replace(/^deliverystream\//, ""),
          Records: events.map(({ body }) => ({ Data: Buffer.from(`${body}\n`).toString("base64") })),
        });
        return collectLeftover(events, recordFailure(answer["RequestResponses"]), ordered);
      },
      close: () => environment.outbound.close(),
    };
  },
};
