/** Names of AWS resources: `arn:partition:service:region:account:resource`. */
export interface Arn {
  readonly partition: string;
  readonly service: string;
  readonly region: string;
  readonly account: string;
  readonly resource: string;
}

const pattern = /^arn:(aws|aws-cn|aws-us-gov):([a-z0-9-]{1,32}):([a-z0-9-]{0,32}):(\d{12}):([!-~]{1,512})$/;

/** Returns undefined if the text is not such a name. */
export function readArn(text: string): Arn | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, partition = "", service = "", region = "", account = "", resource = ""] = match;
  return { partition, service, region, account, resource };
}

/** Returns the host of a service in a region. */
export function awsEndpoint({ partition, region }: Pick<Arn, "partition" | "region">, service: string): string {
  return `https://${service}.${region}.amazonaws.com${partition === "aws-cn" ? ".cn" : ""}/`;
}
