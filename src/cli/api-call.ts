import { request as requestHttp } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { Failure } from "./exit.ts";

/** Largest answer that is read, in bytes, and how long it may take. */
const maxAnswerBytes = 4_194_304;
const timeoutMs = 30_000;

export interface ApiAccess {
  /** The API's base URL. */
  readonly url: string;
  readonly key: string;
}

/** Calls the management API. Throws `Failure` when it refuses or cannot be reached. */
export async function callApi(
  { url, key }: ApiAccess,
  method: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const target = new URL(url.replace(/\/+$/, "") + path);
  const content = JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(target, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(content),
      "service-version": "2",
    },
    timeout: timeoutMs,
  });
  request.once("response", resolve);
  request.once("error", reject);
  request.once("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
  request.end(content);
  try {
    const response = await promise;
    const answer = JSON.parse(await readText(response)) as Record<string, unknown>;
    const status = response.statusCode ?? 0;
    if (status < 300) return answer;
    const sentence = `${String(answer["msg"])} (${String(answer["error_code"])})`;
    throw new Failure(status === 401 ? "credentials" : status < 500 ? "refused" : "unexpected", sentence);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("unreachable", `the API at ${url} cannot be reached: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error("its answer is too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
