/** AWS Kinesis Data Streams, PutRecords. */
import { awsCaller, unavailable } from "./request.ts";
import { recordFailure } from "./records.ts";
import { leftover } from "../target.ts";
import type { TargetKind } from "../target.ts";

const service = { name: "kinesis", prefix: "Kinesis_20131202" } as const;
/** AWS limits: 500 records and 5 MiB per request, 1 MiB per record, keys included. */
const limits = { events: 500, bytes: 5 * 1024 * 1024, perEvent: 64, eventBytes: 1024 * 1024 - 64 } as const;

export const kinesis: TargetKind<"kinesis"> = {
  unavailable,
  open(value, around) {
    const stream = value.stream_arn;
    const caller = awsCaller(service, stream, value, around);
    return {
      limits,
      async deliver(events, ordered) {
        const answer = await caller.call("PutRecords", {
          StreamARN: stream,
          // Records with the same key are read in order. Records with unique keys are spread over the shards.
          Records: events.map(({ id, body }) => ({
            Data: Buffer.from(body).toString("base64"),
            PartitionKey: ordered ? around.accountId : id,
          })),
        });
        return leftover(events, recordFailure(answer["Records"]), ordered);
      },
      close: () => around.outbound.close(),
    };
  },
};
