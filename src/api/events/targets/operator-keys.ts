import type { EventSettings } from "../../../settings/events.ts";

/** The operator's own access to AWS, with which roles are taken. */
export interface OperatorKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of the token service; the region's own unless given. */
  readonly stsEndpoint: string | undefined;
}

/** As the operator has set them; undefined where there are none. */
export function operatorKeys(settings: EventSettings): OperatorKeys | undefined {
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsStsEndpoint: stsEndpoint } = settings;
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, stsEndpoint };
}
