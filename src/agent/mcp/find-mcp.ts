/** Finds out where and how a service speaks MCP, by a session that is ended at once. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { duplexPair } from "node:stream";
import { eventsIn } from "../../lib/event-stream.ts";
import { Agent, request as requestHttp } from "../../lib/http.ts";
import type { McpPlace } from "../mcp-place.ts";
import { describeServiceFault } from "../service-fault.ts";
import { dialUpstream } from "../upstream.ts";
import type { Upstream } from "../upstream.ts";
import { isRpcMessage } from "./json-rpc.ts";
import type { RpcMessage } from "./json-rpc.ts";

/** Time for one answer, milliseconds. A server on standard input may be downloaded first. */
const answerMs = 10_000;
const localAnswerMs = 60_000;
const maxAnswerBytes = 1_048_576;
/** Paths to try, if the user names none. */
const usualPaths = ["/mcp", "/", "/sse"] as const;

export const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "postern", version: "1" } },
} as const;

/** The service is there, and does not speak MCP as it should. */
export class NoMcp extends Error {
  override readonly name = "NoMcp";
}

/**
 * Asks at the path, or at the usual ones.
 *
 * @param host of the requests, if the service expects a certain one
 * @returns the first place that speaks MCP. Rejects with an `Error` that says what each place answered
 */
export async function findMcp(upstream: Upstream, path: string | undefined, host?: string): Promise<McpPlace> {
  const line = openLine(upstream, host ?? hostOf(upstream));
  const answers: string[] = [];
  try {
    for (const at of path === undefined ? usualPaths : [path]) {
      const streamable = await speaksHttp(line, at);
      if (streamable === undefined) return { path: at, transport: "http" };
      const sse = await speaksSse(line, at);
      if (sse === undefined) return { path: at, transport: "sse" };
      answers.push(`POST ${at} ${streamable}, GET ${at} ${sse}`);
    }
  } finally {
    line.close();
  }
  throw new NoMcp(
    `${upstream.text} does not speak MCP: ${answers.join("; ")}. Start an MCP server with Streamable HTTP there, or name its path, such as ${upstream.text}/path`,
  );
}

function hostOf({ text, socketPath }: Upstream): string {
  return (socketPath === undefined ? URL.parse(text)?.host : undefined) ?? "localhost";
}

interface ProbeConnection {
  /** Rejects if there is no answer in time. */
  ask(method: string, path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage>;
  close(): void;
}

function openLine(upstream: Upstream, host: string): ProbeConnection {
  const agent = new Agent({ keepAlive: false });
  const open = new Set<ClientRequest>();
  agent.createConnection = () => {
    if (!upstream.local) return dialUpstream(upstream);
    const [here, there] = duplexPair();
    upstream.local.serve(there);
    return here;
  };
  return {
    async ask(method, path, headers, body) {
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const request = requestHttp({ agent, method, path, headers: { host, ...headers, ...length } });
      open.add(request);
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const ms = upstream.local ? localAnswerMs : answerMs;
      const timer = setTimeout(
        () => request.destroy(new NoMcp(`${upstream.text}: no answer within ${ms / 1000} s`)),
        ms,
      );
      request.on("response", (response) => {
        response.on("error", () => {});
        resolve(response);
      });
      request.on("error", reject);
      request.on("close", () => {
        clearTimeout(timer);
        open.delete(request);
      });
      request.end(body);
      try {
        return await promise;
      } catch (error) {
        if (error instanceof NoMcp) throw error;
        const why = describeServiceFault(upstream, error as Error);
        throw new Error(`cannot reach the service at ${upstream.text}: ${why}`, { cause: error });
      }
    },
    close() {
      for (const request of open) request.destroy();
      agent.destroy();
    },
  };
}

/** Returns undefined if an MCP server with Streamable HTTP is at the path, else what it answered. */
async function speaksHttp(line: ProbeConnection, path: string): Promise<string | undefined> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await line.ask("POST", path, headers, JSON.stringify(initialize));
  const { statusCode = 0 } = response;
  if (statusCode === 401) {
    response.destroy();
    throw new NoMcp(
      `the MCP server at ${path} requires its own authorization (401): disable it there, and require a login here, such as --login google`,
    );
  }
  if (statusCode !== 200) {
    response.destroy();
    return `answered ${statusCode}`;
  }
  const answer = await firstMessage(response);
  response.destroy();
  if (answer?.error) throw new NoMcp(`the MCP server at ${path} refused initialize: ${answer.error.message}`);
  const version = (answer?.result as { readonly protocolVersion?: unknown } | undefined)?.protocolVersion;
  if (typeof version !== "string") return `answered 200 with ${String(response.headers["content-type"])}`;
  const id = response.headers["mcp-session-id"];
  if (typeof id === "string") {
    const end = { "mcp-session-id": id, "mcp-protocol-version": version };
    (await line.ask("DELETE", path, end).catch(() => undefined))?.destroy();
  }
  return undefined;
}

/** The same for the older transport, whose stream begins with the address for messages. */
async function speaksSse(line: ProbeConnection, path: string): Promise<string | undefined> {
  const response = await line.ask("GET", path, { accept: "text/event-stream" });
  const { statusCode = 0 } = response;
  const type = String(response.headers["content-type"]);
  if (statusCode !== 200 || !type.startsWith("text/event-stream")) {
    response.destroy();
    return statusCode === 200 ? `answered 200 with ${type}` : `answered ${statusCode}`;
  }
  const event = await firstEvent(response);
  response.destroy();
  if (event?.type !== "endpoint") return "answered with another event stream";
  if (/^[a-z]+:\/\//i.test(event.data)) {
    throw new NoMcp(
      `the MCP server at ${path} sends its clients to ${event.data}, which other machines cannot reach: let it send a path without a host`,
    );
  }
  return undefined;
}

/** Returns the JSON-RPC response in a JSON body or in an event stream. */
async function firstMessage(response: IncomingMessage): Promise<RpcMessage | undefined> {
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  let text = "";
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      text += piece.toString("utf8");
      if (text.length > maxAnswerBytes) return undefined;
      const found = isStream ? eventsIn(text).map(({ data }) => parseMessage(data)) : [];
      const answer = found.find((one) => one?.id === initialize.id);
      if (answer) return answer;
    }
  } catch {
    return undefined;
  }
  return parseMessage(text);
}

async function firstEvent(response: IncomingMessage): Promise<{ type: string; data: string } | undefined> {
  let text = "";
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      text += piece.toString("utf8");
      const [event] = eventsIn(text);
      if (event || text.length > maxAnswerBytes) return event;
    }
  } catch {
    return undefined;
  }
  return undefined;
}

function parseMessage(text: string): RpcMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRpcMessage(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
