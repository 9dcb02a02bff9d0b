/** Selects the management API and key for the commands, and converts its failures to exit codes. */
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { request as requestHttp } from "../../lib/http.ts";
import { Postern, PosternConnectionError, PosternError, errorCodes, makeSend } from "../../../sdk/src/index.ts";
import type { FetchAnswer, FetchInit, PosternOptions, Send } from "../../../sdk/src/index.ts";
import { Failure } from "../process/exit.ts";
import type { ExitName } from "../process/exit.ts";
import { agentFilesOf } from "../agent-files/default-file.ts";
import { localApiKey, findRunningServer } from "../data/local-server.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

/** Maximum size of a response, bytes. A page of 100 objects with long certificates fits. */
const maxAnswerBytes = 67_108_864;

/** Settings of the commands that call the API. */
export const apiSettings = {
  config: settings.config,
  data: settings.data,
  apiUrl: settings.apiUrl,
  apiKey: settings.apiKey,
} as const;

/** Opens the API that the settings name, or the API of the local server. Throws `Failure` (usage). */
export async function openApi(values: ValuesOf<typeof apiSettings>): Promise<Postern> {
  return new Postern(await placeOf(values));
}

/** Like `openApi`, for single requests. */
export async function openSend(values: ValuesOf<typeof apiSettings>): Promise<Send> {
  return makeSend(await placeOf(values));
}

/** Returns the address and key of the API. Throws `Failure` (usage). */
export async function placeOf({ data, apiUrl, apiKey }: ValuesOf<typeof apiSettings>): Promise<PosternOptions> {
  if (apiUrl === undefined) return { ...localApi(data, apiKey), fetch: sendOverHttp };
  const key = apiKey ?? (await agentFileApiKey());
  if (key === undefined) {
    throw new Failure("usage", `no API key for ${apiUrl}: set one with POSTERN_API_KEY or --api-key-file`);
  }
  return { baseUrl: apiUrl, apiKey: key, fetch: sendOverHttp };
}

/** Opens the API of the server in `directory`, with the key in the same directory. Throws `Failure` (usage). */
function localApi(directory: string, url: string | undefined): { readonly baseUrl: string; readonly apiKey: string } {
  const server = findRunningServer(directory);
  if (!server) {
    throw new Failure("usage", `no server runs on "${directory}": start one, or set the API's address with --api-url`);
  }
  const apiKey = localApiKey(directory);
  if (url !== undefined && url !== apiKey) {
    throw new Failure(
      "usage",
      `the address ${server.apiUrl} comes from "${directory}", so your API key from another place is not sent to it: set the API explicitly, with --api-url ${server.apiUrl}`,
    );
  }
  if (apiKey === undefined) {
    throw new Failure(
      "usage",
      `"${directory}" has no API key: set the API with --api-url ${server.apiUrl}, and a key with --api-key-file`,
    );
  }
  return { baseUrl: server.apiUrl, apiKey };
}

/** Reads the key in the default agent file, where vendors' files store it. */
async function agentFileApiKey(): Promise<string | undefined> {
  const paths = agentFilesOf([], process.env);
  if (paths.length === 0) return undefined;
  const { agentValues } = await import("../agent-files/agent-values.ts");
  return agentValues(paths, () => {}).get("api_key")?.[0];
}

/** Errors for names in use. Another name may succeed. */
const takenCodes: ReadonlySet<string> = new Set([
  errorCodes.domain_held,
  errorCodes.hostport_held,
  errorCodes.name_taken,
  errorCodes.route_exists,
]);

/**
 * Returns an error of a call as a sentence and an exit code. Errors that the API did not cause are returned unchanged.
 */
export function apiFailure(error: unknown): unknown {
  if (error instanceof PosternConnectionError) {
    return new Failure("unreachable", `cannot reach the API: ${toVisibleLine(error.message)}`, { cause: error });
  }
  if (!(error instanceof PosternError)) return error;
  const { operation_id: _, ...details } = error.details;
  // Omits details that the message already contains.
  const more = Object.entries(details).filter(([, text]) => !error.message.includes(text));
  const lines = more.map(([name, text]) => `\n  ${toVisibleLine(`${name}: ${text}`)}`);
  const sentence = `${toVisibleLine(error.message)} (${toVisibleLine(error.code)}, ${error.operationId})${lines.join("")}`;
  return new Failure(reasonOf(error), sentence, { cause: error, code: error.code });
}

function reasonOf({ status, code }: Pick<PosternError, "status" | "code">): ExitName {
  if (status === 401) return "credentials";
  if (takenCodes.has(code)) return "nameTaken";
  if (status === 400 || status === 413 || status === 415) return "usage";
  return status < 500 ? "refused" : "unexpected";
}

/** `fetch` for the SDK. The built-in `fetch` decodes every encoding that the server declares. */
export async function sendOverHttp(url: string, init: FetchInit): Promise<FetchAnswer> {
  const response = await answerTo(new URL(url), init);
  return {
    status: response.statusCode ?? 0,
    headers: { get: (name) => [response.headers[name]].flat().join(", ") || null },
    text: () => readText(response),
  };
}

/**
 * Returns the body of a GET as it arrives.
 * @param path with the query
 */
export async function openStream(values: ValuesOf<typeof apiSettings>, path: string): Promise<AsyncIterable<Buffer>> {
  const { baseUrl, apiKey } = await placeOf(values);
  const target = new URL(`${baseUrl.replace(/\/$/, "")}${path}`);
  const response = await answerTo(target, {
    method: "GET",
    headers: { authorization: `Bearer ${apiKey}`, "service-version": "2" },
  });
  if (response.statusCode === 200) return response;
  const text = await readText(response);
  const { error_code = "", msg = text } = parseFailure(text);
  throw new Failure(
    reasonOf({ status: response.statusCode ?? 0, code: error_code }),
    `${toVisibleLine(msg)} (${toVisibleLine(error_code)}, GET ${target.pathname})`,
  );
}

function parseFailure(text: string): { readonly error_code?: string; readonly msg?: string } {
  try {
    return JSON.parse(text) as { readonly error_code?: string; readonly msg?: string };
  } catch {
    return {};
  }
}

async function answerTo(
  target: URL,
  init: Pick<FetchInit, "method" | "headers" | "body"> & Partial<Pick<FetchInit, "signal">>,
): Promise<IncomingMessage> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>();
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const { method, headers, body, signal } = init;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const request = send(target, { method, headers: { ...headers, ...length }, ...(signal && { signal }) });
  request.once("response", answered);
  request.once("error", reject);
  request.end(body);
  return await promise;
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error("the answer of the API is too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
