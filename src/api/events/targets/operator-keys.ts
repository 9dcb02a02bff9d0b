import type { EventSettings } from "../../../settings/events.ts";

/** The operator's own access to AWS, which is used to assume roles. */
export interface OperatorKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Endpoint of the token service. Default: the region's endpoint. */
  readonly stsEndpoint: string | undefined;
}

/** Returns the operator's keys. Undefined if none are set. */
export function operatorKeys(settings: EventSettings): OperatorKeys | undefined {
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsStsEndpoint: stsEndpoint } = settings;
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, stsEndpoint };
}
