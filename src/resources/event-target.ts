/** Destinations of events. */
import { readArn } from "../lib/arn.ts";
import { f } from "../schema/fields.ts";
import { secretMask } from "../schema/concealment.ts";
import type { Concealment, Rule, StringFormat, StoredOf } from "../schema/fields.ts";

type Members = Readonly<Record<string, unknown>>;

/** Returns an issue unless exactly one member of the object is set. */
function requireExactlyOne(names: readonly string[]): Rule<Members> {
  return (doc) => {
    const set = names.filter((name) => doc[name] !== null);
    if (set.length === 1) return undefined;
    const found = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
    return { path: "", message: `must have exactly one of ${names.join(", ")}; ${found}` };
  };
}

const nullable = { nullable: true } as const;

const httpsUrl: StringFormat = {
  name: "https-url",
  example: "https://collector.example.com/events",
  check(text) {
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol)) return "be a URL that begins with https://";
    return url.username !== "" || url.password !== "" ? "not contain credentials" : undefined;
  },
};

/** The address of a webhook is often enough to send to it: its path and query are the credential. */
const concealedUrl: Concealment = {
  standIn(text) {
    const url = URL.parse(text);
    if (!url) return secretMask;
    return url.pathname === "/" && url.search === "" && url.hash === "" ? text : `${url.origin}/${secretMask}`;
  },
  isStandIn: (text) => text === secretMask || text.endsWith(`/${secretMask}`),
};

/** The ARN of a service's resource, with a region unless the service has none. */
function arnFormat(service: string, resource: RegExp, example: string): StringFormat {
  return {
    name: "arn",
    example,
    check(text) {
      const read = readArn(text);
      const fits = read?.service === service && resource.test(read.resource);
      return fits && (service === "iam" || read.region !== "") ? undefined : `be an ARN such as ${example}`;
    },
  };
}

const endpointField = (what: string) =>
  f.string(`URL of ${what} instead of its public address, such as a VPC endpoint; https.`, {
    maxBytes: 2048,
    format: { ...httpsUrl, example: "https://vpce-1.example.com" },
    sensitive: concealedUrl,
  });

const awsAuth = {
  ...f.object("How to sign in to AWS: `role` or `creds`.", {
    role: f.object(
      "A role to assume with the operator's AWS key. The external id is the account's id.",
      {
        role_arn: f.string("ARN of the role.", {
          required: true,
          format: arnFormat("iam", /^role\/./, "arn:aws:iam::123456789012:role/events"),
        }),
      },
      nullable,
    ),
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
  rules: [requireExactlyOne(["role", "creds"])],
} as const;

const members = {
  webhook: f.object(
    "An HTTP server. Each event is a POST request, signed according to the Standard Webhooks specification.",
    {
      url: f.string("URL for the events; https.", {
        required: true,
        maxBytes: 2048,
        format: httpsUrl,
        sensitive: concealedUrl,
      }),
      secret: f.string("Signing secret: `whsec_` and base64, or any text. Generated if absent.", {
        secret: true,
        format: {
          name: "webhook-secret",
          example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          check: secretIssue,
        },
      }),
    },
    nullable,
  ),
  file: f.object(
    "A file of JSON lines below `events/` in the server's data directory. Only operators' keys can set it.",
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
    "AWS Data Firehose: each event is a line of JSON.",
    {
      auth: awsAuth,
      delivery_stream_arn: f.string("ARN of the stream.", {
        required: true,
        format: arnFormat(
          "firehose",
          /^deliverystream\/[A-Za-z0-9_.-]{1,64}$/,
          "arn:aws:firehose:eu-west-1:123456789012:deliverystream/events",
        ),
      }),
      endpoint: endpointField("Firehose"),
    },
    nullable,
  ),
  kinesis: f.object(
    "AWS Kinesis Data Streams: each event is a record.",
    {
      auth: awsAuth,
      stream_arn: f.string("ARN of the stream.", {
        required: true,
        format: arnFormat(
          "kinesis",
          /^stream\/[A-Za-z0-9_.-]{1,128}$/,
          "arn:aws:kinesis:eu-west-1:123456789012:stream/events",
        ),
      }),
      endpoint: endpointField("Kinesis"),
    },
    nullable,
  ),
  cloudwatch_logs: f.object(
    "AWS CloudWatch Logs: each event is a log event, in the log stream `postern/` and the destination's id.",
    {
      auth: awsAuth,
      log_group_arn: f.string("ARN of the log group.", {
        required: true,
        format: arnFormat(
          "logs",
          /^log-group:[A-Za-z0-9_./#-]{1,512}(:\*)?$/,
          "arn:aws:logs:eu-west-1:123456789012:log-group:events",
        ),
      }),
      endpoint: endpointField("CloudWatch Logs"),
    },
    nullable,
  ),
  datadog: f.object(
    "Datadog: each event is a log, through the intake's version 2.",
    {
      api_key: f.string("API key of the Datadog account.", {
        required: true,
        secret: true,
        format: {
          name: "api-key",
          example: "0123456789abcdef0123456789abcdef",
          check: (text) => (/^[!-~ ]+$/.test(text) ? undefined : "contain only printable ASCII characters"),
        },
      }),
      ddtags: f.string("Tags of each event: `name:value`, separated by commas."),
      service: f.string("Service name of the events."),
      ddsite: f.string("Site of the account; `datadoghq.com` if empty.", {
        format: {
          name: "host",
          example: "datadoghq.eu",
          check: (text) =>
            /^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/.test(text) ? undefined : "be a site such as datadoghq.eu",
        },
      }),
      endpoint: endpointField("the log intake, including its path,"),
    },
    nullable,
  ),
  azure_logs_ingestion: f.object(
    "Azure Monitor's Logs Ingestion. Each event is a row, with its time in `TimeGenerated`.",
    {
      tenant_id: f.string("Id of the tenant.", { required: true }),
      client_id: f.string("Id of the client.", { required: true }),
      client_secret: f.string("Secret of the client.", { required: true, secret: true }),
      logs_ingestion_uri: f.string(
        "URL for the events: the data collection endpoint, or the endpoint of the rule; https.",
        {
          required: true,
          maxBytes: 2048,
          format: { ...httpsUrl, example: "https://events-x1y2.westeurope-1.ingest.monitor.azure.com" },
          sensitive: concealedUrl,
        },
      ),
      data_collection_rule_id: f.string("Immutable id of the data collection rule.", { required: true }),
      data_collection_stream_name: f.string("Name of the stream.", { required: true }),
      authority_host: f.string("URL of the token service; `https://login.microsoftonline.com` if empty.", {
        maxBytes: 2048,
        format: { ...httpsUrl, example: "https://login.microsoftonline.us" },
        sensitive: concealedUrl,
      }),
    },
    nullable,
  ),
} as const;

export const eventTarget = {
  ...f.object("Set exactly one of the members.", members, {
    schemaName: "EventTarget",
    example: { webhook: { url: "https://collector.example.com/events" } } as never,
  }),
  required: true,
  rules: [requireExactlyOne(Object.keys(members))],
} as const;

export type EventTargetName = keyof typeof members;

/** Settings of a destination for this target. */
export type EventTargetValue<N extends EventTargetName> = NonNullable<StoredOf<typeof members>[N]>;

/** Returns the bytes of the key in a webhook's secret. */
export function signingKey(secret: string): Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);
}

function secretIssue(text: string): string | undefined {
  if (text.startsWith("whsec_") && !/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return 'be base64 after "whsec_"';
  // Check the decoded key, because longer text may decode to nothing.
  return signingKey(text).length < 16 ? "stand for a key of at least 16 bytes" : undefined;
}
