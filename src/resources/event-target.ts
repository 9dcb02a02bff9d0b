/** Where events go. The clouds' targets are kept as they are given; this server delivers to `webhook` and `file`. */
import { f } from "../schema/fields.ts";
import type { Rule } from "../schema/fields.ts";

type Members = Readonly<Record<string, unknown>>;

/** What is wrong unless exactly one member of the object is set. */
function exactlyOne(names: readonly string[]): Rule<Members> {
  return (doc) => {
    const set = names.filter((name) => doc[name] !== null);
    if (set.length === 1) return undefined;
    const found = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
    return { path: "", message: `must have exactly one of ${names.join(", ")}; ${found}` };
  };
}

const nullable = { nullable: true } as const;

const awsAuth = {
  ...f.object("How to sign in to AWS: `role` or `creds`.", {
    role: f.object("A role to take.", { role_arn: f.string("ARN of the role.", { required: true }) }, nullable),
    creds: f.object(
      "A key pair.",
      {
        aws_access_key_id: f.string("Id of the key.", { required: true }),
        aws_secret_access_key: f.string("The key.", { required: true, secret: true }),
      },
      nullable,
    ),
  }),
  required: true,
  rules: [exactlyOne(["role", "creds"])],
} as const;

const members = {
  webhook: f.object(
    "An HTTP server: each event is a POST, signed as the Standard Webhooks specification says.",
    {
      url: f.string("Where to send events; https.", {
        required: true,
        maxBytes: 2048,
        format: {
          name: "https-url",
          example: "https://collector.example.com/events",
          check(text) {
            const url = URL.parse(text);
            if (!url || !/^https?:$/.test(url.protocol)) return "be a URL that begins with https://";
            return url.username !== "" || url.password !== "" ? "have no credentials in it" : undefined;
          },
        },
      }),
      secret: f.string("What signatures are made with: `whsec_` and base64, or any text. Made when absent.", {
        secret: true,
        format: {
          name: "webhook-secret",
          example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          check: (text) => (Buffer.byteLength(text) < 16 ? "have at least 16 bytes" : undefined),
        },
      }),
    },
    nullable,
  ),
  file: f.object(
    "A file of JSON lines below `events/` of the server's data directory. Only operators' keys can set it.",
    {
      name: f.string("Name of the file.", {
        required: true,
        maxBytes: 100,
        format: {
          name: "file-name",
          example: "audit.jsonl",
          check: (text) =>
            /^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(text)
              ? undefined
              : "be a file name of letters, digits, dots, dashes and underscores",
        },
      }),
    },
    nullable,
  ),
  firehose: f.object(
    "AWS Firehose: kept, not delivered to.",
    { auth: awsAuth, delivery_stream_arn: f.string("ARN of the stream.", { required: true }) },
    nullable,
  ),
  kinesis: f.object(
    "AWS Kinesis: kept, not delivered to.",
    { auth: awsAuth, stream_arn: f.string("ARN of the stream.", { required: true }) },
    nullable,
  ),
  cloudwatch_logs: f.object(
    "AWS CloudWatch Logs: kept, not delivered to.",
    { auth: awsAuth, log_group_arn: f.string("ARN of the log group.", { required: true }) },
    nullable,
  ),
  datadog: f.object(
    "Datadog: kept, not delivered to.",
    {
      api_key: f.string("Key of the account there.", { required: true, secret: true }),
      ddtags: f.string("Tags of each event."),
      service: f.string("Service that events are of."),
      ddsite: f.string("Site that the account is on."),
    },
    nullable,
  ),
  azure_logs_ingestion: f.object(
    "Azure Logs Ingestion: kept, not delivered to.",
    {
      tenant_id: f.string("Id of the tenant.", { required: true }),
      client_id: f.string("Id of the client.", { required: true }),
      client_secret: f.string("Secret of the client.", { required: true, secret: true }),
      logs_ingestion_uri: f.string("Where to send events.", { required: true, maxBytes: 2048 }),
      data_collection_rule_id: f.string("Id of the rule.", { required: true }),
      data_collection_stream_name: f.string("Name of the stream.", { required: true }),
    },
    nullable,
  ),
} as const;

export const eventTarget = {
  ...f.object("Exactly one of the members.", members, {
    schemaName: "EventTarget",
    example: { webhook: { url: "https://collector.example.com/events" } } as never,
  }),
  required: true,
  rules: [exactlyOne(Object.keys(members))],
} as const;
