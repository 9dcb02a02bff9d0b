/** AWS Kinesis Data Streams, PutRecords. */
import { awsCaller, explainUnavailable } from "./aws-request.ts";
import { recordFailure } from "./failed-records.ts";
import { collectLeftover } from "../opened-target.ts";
import type { TargetKind } from "../opened-target.ts";

const service = { name: "kinesis", prefix: "Kinesis_20131202" } as const;
/** AWS limits: 500 records and 5 MiB per request, 1 MiB per record, keys included. */
const limits = { events: 500, bytes: 5 * 1024 * 1024, perEvent: 64, eventBytes: 1024 * 1024 - 64 } as const;

export const kinesis: TargetKind<"kinesis"> = {
  unavailable: explainUnavailable,
  open(value, environment) {
    const stream = value.stream_arn;
    const caller = awsCaller(service, stream, value, environment);
    return {
      limits,
      async deliver(events, ordered) {
        const answer = await caller.call("PutRecords", {
          StreamARN: stream,
          // Records with the same key are read in order. Records with unique keys are spread over the shards.
          Records: events.map(({ id, body }) => ({
            Data: Buffer.from(body).toString("base64"),
            PartitionKey: ordered ? environment.accountId : id,
          })),
        });
        return collectLeftover(events, recordFailure(answer["Records"]), ordered);
      },
      close: () => environment.outbound.close(),
    };
  },
};
