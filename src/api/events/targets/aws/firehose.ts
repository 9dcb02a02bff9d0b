/** AWS Data Firehose, PutRecordBatch. Each event is a line. */
import { awsCaller, unavailable } from "./request.ts";
import { recordFailure } from "./records.ts";
import { leftover } from "../target.ts";
import type { TargetKind } from "../target.ts";

const service = { name: "firehose", prefix: "Firehose_20150804" } as const;
/** AWS limits: 500 records and 4 MiB per request, 1,000 KiB per record. */
const limits = { events: 500, bytes: 4 * 1024 * 1024, perEvent: 1, eventBytes: 1000 * 1024 - 1 } as const;

export const firehose: TargetKind<"firehose"> = {
  unavailable,
  open(value, around) {
    const caller = awsCaller(service, value.delivery_stream_arn, value, around);
    return {
      limits,
      async deliver(events, ordered) {
        const answer = await caller.call("PutRecordBatch", {
          DeliveryStreamName: caller.arn.resource.replace(/^deliverystream\//, ""),
          Records: events.map(({ body }) => ({ Data: Buffer.from(`${body}\n`).toString("base64") })),
        });
        return leftover(events, recordFailure(answer["RequestResponses"]), ordered);
      },
      close: () => around.outbound.close(),
    };
  },
};
