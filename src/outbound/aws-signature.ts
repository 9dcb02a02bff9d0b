import { AwsV4Signer } from "aws4fetch";

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface Unsigned {
  /** Default: POST. */
  readonly method?: string;
  readonly url: URL;
  readonly service: string;
  readonly region: string;
  readonly keys: AwsKeys;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowMs: number;
}

/** Returns the headers of a request with an AWS signature, version 4. The signature covers content type and target. */
export async function signHeaders({
  method = "POST",
  url,
  keys,
  headers,
  nowMs,
  ...rest
}: Unsigned): Promise<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  const signer = new AwsV4Signer({
    ...rest,
    method,
    url: url.href,
    headers,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    datetime: `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`,
    allHeaders: true,
  });
  const signed = await signer.sign();
  return Object.fromEntries(signed.headers);
}
