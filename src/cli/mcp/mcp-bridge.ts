/**
 * Connects an MCP client on standard input and output with `/mcp` of a server: each line is a message, which becomes a
 * request. The tools run at the server, so that they fit its version.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { createInterface } from "node:readline";
import { request as requestHttp } from "../../lib/http.ts";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";

export interface BridgeOptions {
  readonly url: URL;
  readonly apiKey: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly diagnostics: NodeJS.WritableStream;
}

/** Maximum size of a message in either direction, characters. */
const maxMessageLength = 2_097_152;
/** Maximum number of messages that wait for the server. */
const maxOpen = 32;

/** Codes of JSON-RPC 2.0. */
const parseError = -32_700;
const serverError = -32_000;

/** Resolves when the input has ended and every message is answered. */
export async function bridgeMcp({ url, apiKey, input, output, diagnostics }: BridgeOptions): Promise<void> {
  const open = new Set<Promise<void>>();
  let session: string | undefined;
  let version: string | undefined;

  const write = (message: JsonObject): void => void output.write(`${JSON.stringify(message)}\n`);
  const failed = (id: unknown, code: number, text: string): void => {
    if (id === undefined) diagnostics.write(`postern mcp: ${toVisibleLine(text)}\n`);
    else write({ jsonrpc: "2.0", id, error: { code, message: text } });
  };
  const receive = (id: unknown, message: JsonObject): void => {
    const { protocolVersion } = (message["result"] ?? {}) as JsonObject;
    if (message["id"] === id && typeof protocolVersion === "string") version = protocolVersion;
    write(message);
  };
  const forward = async (line: string, { id, method }: JsonObject): Promise<void> => {
    const asks = method === undefined ? undefined : id;
    try {
      const headers: Record<string, string> = {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "content-length": String(Buffer.byteLength(line)),
        ...(session !== undefined && method !== "initialize" && { "mcp-session-id": session }),
        ...(version !== undefined && method !== "initialize" && { "mcp-protocol-version": version }),
      };
      const response = await postMessage(url, headers, line);
      const given = response.headers["mcp-session-id"];
      if (typeof given === "string") session = given;
      const isStream = /^text\/event-stream/i.test(response.headers["content-type"] ?? "");
      if (isStream) return await readEvents(response, (message) => receive(asks, message));
      const body = await readAll(response);
      if (response.statusCode === 200) receive(asks, parseJsonObject(body));
      else if (response.statusCode !== 202) failed(asks, serverError, refusalIn(body, response.statusCode));
    } catch (error) {
      failed(asks, serverError, `cannot reach the API at ${url.origin}: ${(error as Error).message}`);
    }
  };

  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    if (line.length > maxMessageLength) {
      failed(null, parseError, `a message must have at most ${maxMessageLength} characters`);
      continue;
    }
    try {
      const message = parseJsonObject(Buffer.from(line));
      while (open.size >= maxOpen) await Promise.race(open);
      const answered = forward(line, message).finally(() => open.delete(answered));
      open.add(answered);
      // The first answer has the session of all later messages.
      if (message["method"] === "initialize") await answered;
    } catch (error) {
      if (!(error instanceof JsonIssue)) throw error;
      failed(null, parseError, `the message ${error.message}`);
    }
  }
  await Promise.all(open);
}

async function postMessage(url: URL, headers: Record<string, string>, body: string): Promise<IncomingMessage> {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(url, { method: "POST", headers });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxMessageLength) throw new Error("the answer is too large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Reads the messages of a stream of server-sent events. The server sends each as one line of data. */
async function readEvents(response: IncomingMessage, receive: (message: JsonObject) => void): Promise<void> {
  let rest = "";
  response.setEncoding("utf8");
  for await (const part of response as AsyncIterable<string>) {
    rest += part;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      if (line.startsWith("data: ")) receive(parseJsonObject(Buffer.from(line.slice("data: ".length))));
    }
    if (rest.length > maxMessageLength) throw new Error("the answer is too large");
  }
}

/** Returns the sentence and the code of an error of the API. */
function refusalIn(body: Buffer, status: number | undefined): string {
  try {
    const { msg, error_code: code } = parseJsonObject(body);
    if (typeof msg === "string" && typeof code === "string") return `${toVisibleLine(msg)} (${toVisibleLine(code)})`;
  } catch {
    // The answer is not from the API.
  }
  return `the server answered with status ${status}, which is not an answer of the API; check --api-url`;
}
