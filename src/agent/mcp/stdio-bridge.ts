/** Serves an MCP server on standard input and output over Streamable HTTP: one process for each session. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { runUnattended } from "../../lib/boundary.ts";
import type { Log } from "../../lib/log.ts";
import { localService } from "../local-service.ts";
import type { LocalService } from "../local-service.ts";
import { bridgePath } from "./bridge-path.ts";
import { BridgeSession } from "./bridge-session.ts";
import type { ChildOptions } from "./child.ts";
import { isRequest, isRpcMessage, rpcCodes, rpcError } from "./json-rpc.ts";
import type { RpcMessage } from "./json-rpc.ts";
import { sendJson } from "./mcp-reply.ts";

const maxBodyBytes = 4_194_304;
const pulseMs = 20_000;
/** Lines of standard error per minute that are logged. */
const maxSaid = 200;

export interface BridgeOptions extends ChildOptions {
  readonly maxSessions: number;
  /** A session without requests and streams ends after this time. */
  readonly idleMs: number;
  readonly log: () => Log;
}

export function stdioBridge(options: BridgeOptions): LocalService {
  const { clock } = options;
  const sessions = new Map<string, BridgeSession>();
  const said = boundedLog(options);
  let isClosed = false;
  const timer = clock.every(pulseMs, () => {
    const idleSince = clock.monotonic() - options.idleMs;
    for (const session of sessions.values()) {
      session.pulse();
      if (!session.isActive && session.usedAt <= idleSince) runUnattended("task", session.close());
    }
  });
  const begin = (message: RpcMessage, response: ServerResponse): void => {
    if (!isRequest(message)) return;
    if (isClosed) return refuseRequest(response, 503, rpcCodes.busy, "the agent stops");
    if (sessions.size >= options.maxSessions && !makeRoom(sessions)) {
      return refuseRequest(response, 503, rpcCodes.busy, `${options.maxSessions} sessions are in use`);
    }
    const id = randomUUID();
    const session = new BridgeSession(message, {
      ...options,
      id,
      said,
      crashed: (why) => options.log().warn("MCP server ended", { reason: why }),
      closed: () => sessions.delete(id),
    });
    sessions.set(id, session);
    session.begin(response);
  };
  const post = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    if (body === undefined) {
      return refuseRequest(response, 413, rpcCodes.invalid, `a message has more than ${maxBodyBytes} bytes`);
    }
    const read = messagesIn(body);
    if (!read) return refuseRequest(response, 400, rpcCodes.parse, "the body is not a JSON-RPC message");
    const [first] = read.messages as readonly [RpcMessage];
    const id = sessionOf(request);
    if (id === undefined && first.method === "initialize" && read.messages.length === 1) return begin(first, response);
    const session = sessionFor(id, response);
    const acceptsStream = /text\/event-stream|\*\/\*/.test(request.headers.accept ?? "");
    session?.post(read.messages, read.isBatch, acceptsStream, response);
  };
  const sessionFor = (id: string | undefined, response: ServerResponse): BridgeSession | undefined => {
    const session = sessions.get(id ?? "");
    if (id === undefined) refuseRequest(response, 400, rpcCodes.invalid, "the request has no Mcp-Session-Id");
    else if (!session) refuseRequest(response, 404, rpcCodes.noSession, "the session does not exist: send initialize");
    return session;
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void | Promise<void> => {
    const [path] = (request.url ?? "").split("?", 1);
    if (path !== bridgePath)
      return refuseRequest(response, 404, rpcCodes.invalid, `the MCP server is at ${bridgePath}`);
    if (request.method === "POST") return post(request, response);
    if (request.method !== "GET" && request.method !== "DELETE") {
      response.setHeader("allow", "GET, POST, DELETE");
      return refuseRequest(response, 405, rpcCodes.invalid, "the method must be GET, POST or DELETE");
    }
    const session = sessionFor(sessionOf(request), response);
    if (!session) return;
    if (request.method === "DELETE") {
      runUnattended("task", session.close());
      response.writeHead(204).end();
    } else if (!session.listen(response))
      refuseRequest(response, 409, rpcCodes.invalid, "the session already has a stream");
  };
  return {
    ...localService({
      request(request, response) {
        response.on("error", () => {});
        const answered = answer(request, response);
        if (answered) runUnattended("exchange", answered, () => response.destroy());
      },
    }),
    async close() {
      isClosed = true;
      timer.cancel();
      await Promise.all([...sessions.values()].map((session) => session.close("the agent stops")));
    },
  };
}

/** Ends the session that was unused for the longest time, so that clients that left without a word keep no others out. */
function makeRoom(sessions: ReadonlyMap<string, BridgeSession>): boolean {
  const [longest] = [...sessions.values()].filter(({ isActive }) => !isActive).toSorted((a, b) => a.usedAt - b.usedAt);
  if (longest) runUnattended("task", longest.close());
  return longest !== undefined;
}

function boundedLog({ clock, log }: BridgeOptions): (line: string) => void {
  let begun = -Infinity;
  let count = 0;
  return (line) => {
    if (clock.monotonic() - begun > 60_000) {
      begun = clock.monotonic();
      count = 0;
    }
    count += 1;
    if (count <= maxSaid) log().info("MCP server", { line });
    if (count === maxSaid) log().warn("MCP server writes too much: further lines of this minute are not logged");
  };
}

function sessionOf({ headers }: IncomingMessage): string | undefined {
  const id = headers["mcp-session-id"];
  return typeof id === "string" ? id : undefined;
}

function messagesIn(body: string): { readonly messages: readonly RpcMessage[]; readonly isBatch: boolean } | undefined {
  try {
    const read: unknown = JSON.parse(body);
    const isBatch = Array.isArray(read);
    const messages: unknown[] = isBatch ? read : [read];
    return messages.length > 0 && messages.every(isRpcMessage) ? { messages, isBatch } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined for a body that is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length <= maxBodyBytes) pieces.push(piece);
    else pieces.length = 0;
  }
  return length > maxBodyBytes ? undefined : Buffer.concat(pieces).toString("utf8");
}

function refuseRequest(response: ServerResponse, status: number, code: number, why: string): void {
  sendJson(response, status, rpcError(null, code, why));
}
