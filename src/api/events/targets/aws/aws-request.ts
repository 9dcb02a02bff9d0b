/** Calls AWS services that use JSON over POST. */
import { awsEndpoint, readArn } from "../../../../lib/arn.ts";
import type { Arn } from "../../../../lib/arn.ts";
import { toNotDelivered, readObject } from "../response.ts";
import { NotDelivered } from "../opened-target.ts";
import type { OperatorKeys } from "../operator-keys.ts";
import type { TargetEnvironment } from "../opened-target.ts";
import { awsCredentials } from "./aws-credentials.ts";
import type { AwsAuth } from "./aws-credentials.ts";
import { signHeaders } from "../../../../outbound/aws-signature.ts";

export interface AwsService {
  /** Name in the service's ARNs and host names. */
  readonly name: string;
  /** Prefix of the operation in `X-Amz-Target`. */
  readonly prefix: string;
}

/** Settings that all AWS targets share. */
interface AwsTarget {
  readonly auth: AwsAuth;
  /** Replaces the service's default endpoint; "" for the default. */
  readonly endpoint: string;
}

export interface AwsCaller {
  readonly arn: Arn;
  /** Returns the result of the operation. Rejects with `NotDelivered`, with the service's error as `code`. */
  call(operation: string, input: unknown): Promise<Readonly<Record<string, unknown>>>;
}

export class AwsFailure extends NotDelivered {
  readonly code: string;

  constructor(code: string, { message, retryAfterMs }: NotDelivered) {
    super(message, retryAfterMs);
    this.code = code;
  }
}

/** Errors for invalid or expired credentials. */
const stale = new Set(["ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException"]);

export function awsCaller(
  service: AwsService,
  arnText: string,
  value: AwsTarget,
  environment: TargetEnvironment,
): AwsCaller {
  const arn = readArn(arnText);
  if (!arn) throw new NotDelivered("the ARN is invalid");
  const url = new URL(value.endpoint || awsEndpoint(arn, service.name));
  const credentials = awsCredentials(value.auth, arn, environment);
  const { outbound } = environment;
  return {
    arn,
    async call(operation, input) {
      const body = JSON.stringify(input);
      const keys = await credentials.keys();
      const nowMs = outbound.clock.now();
      const headers = await signHeaders({
        url,
        service: service.name,
        region: arn.region,
        keys,
        headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": `${service.prefix}.${operation}` },
        body,
        nowMs,
      });
      const answer = await outbound.send({ method: "POST", url, headers, body });
      if (answer.status === 200) return readObject(answer.text);
      const code = errorCode(readObject(answer.text)["__type"]);
      if (stale.has(code)) credentials.forget();
      throw new AwsFailure(code, toNotDelivered(answer, `${code} to ${operation}`.trim(), nowMs));
    },
  };
}

/** Returns the name of an error. The rest of the error may repeat parts of the request and is dropped. */
function errorCode(type: unknown): string {
  const name = typeof type === "string" ? type.slice(type.lastIndexOf("#") + 1) : "";
  return /^[A-Z][A-Za-z]{1,63}$/.test(name) ? name : "";
}

/** Shared by all AWS targets. */
export const explainUnavailable = ({ auth }: AwsTarget, aws: OperatorKeys | undefined): string | undefined =>
  auth.role === null || aws !== undefined
    ? undefined
    : "it has no AWS key to assume a role: set `auth.creds`, or ask the operator to set --aws-access-key-id";
