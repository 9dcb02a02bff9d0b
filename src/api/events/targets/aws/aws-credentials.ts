/**
 * Key pairs for AWS: the configured pair, or the temporary pair of a role from the token service, valid for an hour.
 */
import { awsEndpoint, readArn } from "../../../../lib/arn.ts";
import type { Arn } from "../../../../lib/arn.ts";
import type { EventTargetValue } from "../../../../resources/event-target.ts";
import { toNotDelivered } from "../response.ts";
import { NotDelivered } from "../opened-target.ts";
import type { TargetEnvironment } from "../opened-target.ts";
import { signHeaders } from "../../../../outbound/aws-signature.ts";
import type { AwsKeys } from "../../../../outbound/aws-signature.ts";
import { parseTime } from "../../../../lib/rfc3339.ts";

/** How a target authenticates: with a key pair or a role. */
export type AwsAuth = EventTargetValue<"firehose" | "kinesis" | "cloudwatch_logs">["auth"];

export interface AwsCredentials {
  keys(): Promise<AwsKeys>;
  /** Drops the keys after the receiver rejected them, so that new ones are requested. */
  forget(): void;
}

const lifeSeconds = 3600;
/** How long before their expiry keys are renewed. */
const marginMs = 5 * 60_000;

export function awsCredentials(auth: AwsAuth, resource: Arn, environment: TargetEnvironment): AwsCredentials {
  const { creds } = auth;
  if (creds) {
    const keys = { accessKeyId: creds.aws_access_key_id, secretAccessKey: creds.aws_secret_access_key };
    return { keys: () => Promise.resolve(keys), forget() {} };
  }
  const role = auth.role?.role_arn ?? "";
  const { clock } = environment.outbound;
  let lent: { readonly keys: AwsKeys; readonly endsAt: number } | undefined;
  return {
    async keys() {
      if (!lent || clock.now() > lent.endsAt - marginMs) lent = await assumeRole(role, resource, environment);
      return lent.keys;
    },
    forget() {
      lent = undefined;
    },
  };
}

/**
 * STS AssumeRole. It sends the account's id as external id. A role that requires this id cannot be used by another
 * account of this server.
 */
async function assumeRole(
  role: string,
  resource: Arn,
  { aws, operatorOutbound, accountId, outbound }: TargetEnvironment,
): Promise<{ readonly keys: AwsKeys; readonly endsAt: number }> {
  if (!aws) throw new NotDelivered("this server has no AWS key to assume a role");
  const nowMs = outbound.clock.now();
  const { partition, region } = { ...resource, partition: readArn(role)?.partition ?? resource.partition };
  const url = new URL(aws.stsEndpoint ?? awsEndpoint({ partition, region }, "sts"));
  const body = new URLSearchParams({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: "postern-events",
    ExternalId: accountId,
    DurationSeconds: String(lifeSeconds),
  }).toString();
  const headers = await signHeaders({
    url,
    service: "sts",
    region,
    keys: aws,
    headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
    body,
    nowMs,
  });
  const answer = await operatorOutbound.send({ method: "POST", url, headers, body });
  const read = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(answer.text)?.[1] ?? "";
  if (answer.status !== 200) {
    const code = /^[A-Za-z]{1,64}$/.exec(read("Code"))?.[0] ?? "";
    throw toNotDelivered(answer, `${code} to AssumeRole`.trim(), nowMs);
  }
  const keys = {
    accessKeyId: read("AccessKeyId"),
    secretAccessKey: read("SecretAccessKey"),
    sessionToken: read("SessionToken"),
  };
  const endsAt = parseTime(read("Expiration"));
  if (keys.accessKeyId === "" || keys.secretAccessKey === "" || endsAt === undefined) {
    throw new NotDelivered("the answer to AssumeRole has no credentials");
  }
  return { keys, endsAt };
}
