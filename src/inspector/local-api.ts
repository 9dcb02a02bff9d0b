/** The agent's local HTTP API on this machine. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { drainOf } from "../lib/http-drain.ts";
import { createServer } from "../lib/http.ts";
import type { PageReply, Pages } from "../pages/pages.ts";
import { eventsPath, streamEvents } from "./stream-events.ts";
import { admitRequest } from "./admit-request.ts";
import { LocalRefusal, renderRefusal } from "./local-refusal.ts";
import { routes } from "./local-routes.ts";
import type { LocalReply, LocalCall, LocalSubject } from "./local-routes.ts";

export interface LocalApiOptions extends LocalSubject {
  /** "" for every address. */
  readonly host: string;
  /** Whether a call may use this name as its `Host`, besides `host` and loopback names. */
  readonly isAllowed: (name: string) => boolean;
  /** Ports to try in order. The first free one is used. */
  readonly ports: readonly number[];
  readonly deadlines?: RequestDeadlines;
}

const maxBodyBytes = 1_048_576;

/** Time limits for callers, milliseconds. */
export interface RequestDeadlines {
  /** Until the head of a request is complete. */
  readonly head: number;
  /** Until the whole request is complete. */
  readonly request: number;
  /** Without a byte in either direction. Longer than the keep-alive interval of the event stream and than a replay. */
  readonly idle: number;
}

const usualDeadlines: RequestDeadlines = { head: 10_000, request: 30_000, idle: 90_000 };
const maxConnections = 128;

export interface LocalApi {
  /** `http://127.0.0.1:4040`. */
  readonly url: string;
  /** Closes each connection with its next response from now on, and ends the event streams. */
  drain(): void;
  /** Drains, waits for the requests in flight for at most 2 s, and closes. */
  close(): Promise<void>;
}

const closeTimeoutMs = 2_000;

/** Starts to listen. Rejects if none of the ports is free. */
export async function startLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const { host, ports, deadlines = usualDeadlines } = options;
  const streams = new Set<ServerResponse>();
  const server = createServer(
    {
      headersTimeout: deadlines.head,
      requestTimeout: deadlines.request,
      connectionsCheckingInterval: Math.min(1000, deadlines.head),
    },
    (request, response) => void handleRequest(options, request, response, streams),
  );
  const draining = drainOf(server, options.inspector.clock);
  server.setTimeout(deadlines.idle);
  server.maxConnections = maxConnections;
  for (const [at, port] of ports.entries()) {
    try {
      await listenOn(server, host, port);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || at + 1 === ports.length) throw error;
    }
  }
  // The local API alone does not keep the process running.
  server.unref();
  const drain = (): void => {
    draining.begin();
    for (const stream of streams) stream.end();
  };
  const { port } = server.address() as AddressInfo;
  const shown = host === "" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${port}`,
    drain,
    close() {
      drain();
      return draining.end(closeTimeoutMs);
    },
  };
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host !== "" && { host }) }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function handleRequest(
  options: LocalApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
  streams: Set<ServerResponse>,
): Promise<void> {
  try {
    admitRequest(request, options.host, options.isAllowed);
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (request.method === "GET" && path === eventsPath) return streamEvents(options.inspector, response, streams);
    const page = isRead(request) && !path.startsWith("/api") ? await pageAt(path, request) : undefined;
    if (!page) return sendAnswer(response, await answerRequest(options, request));
    response.writeHead(page.status, { ...page.headers, "content-length": page.body.length });
    response.end(page.body);
  } catch (error) {
    // Messages of unexpected errors may contain captured data.
    const refusal =
      error instanceof LocalRefusal ? error : new LocalRefusal("local_failed", "the local API had an internal error");
    sendAnswer(response, { status: refusal.status, body: renderRefusal(refusal) });
  }
}

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

let pages: Pages | undefined;

/** Serves the page and its files, which are read on demand. */
async function pageAt(path: string, request: IncomingMessage): Promise<PageReply | undefined> {
  pages ??= (await import("../pages/pages.ts")).openPages("inspector.html");
  return pages.get(path.startsWith("/inspect/") ? "/" : path, request.headers["accept-encoding"]);
}

async function answerRequest(options: LocalApiOptions, request: IncomingMessage): Promise<LocalReply> {
  const url = URL.parse(`http://host${request.url ?? "/"}`);
  const path = (url?.pathname ?? "/").replace(/(?<=.)\/$/, "");
  const cut = path.lastIndexOf("/");
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  const whole = routes[`${method} ${path}`];
  const handler = whole ?? routes[`${method} ${path.slice(0, cut)}/:`];
  if (!url || !handler) throw new LocalRefusal("local_not_found", `there is no ${method} ${path}`);
  const body = method === "POST" || method === "PUT" ? await readBody(request) : {};
  return await handler(options, { query: url.searchParams, name: whole ? "" : decodePart(path.slice(cut + 1)), body });
}

async function readBody(request: IncomingMessage): Promise<LocalCall["body"]> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBodyBytes)
      throw new LocalRefusal("local_body_too_large", `a body can have at most ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  if (length === 0) return {};
  let read: unknown;
  try {
    read = JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    throw new LocalRefusal("local_call_invalid", "the body is not valid JSON");
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    throw new LocalRefusal("local_call_invalid", "the body must be a JSON object");
  }
  return read as LocalCall["body"];
}

function sendAnswer(response: ServerResponse, { status, body, location }: LocalReply): void {
  const text = body && `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    ...(location !== undefined && { location }),
    // The rest of the body is not read.
    ...(status === 413 && { connection: "close" }),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new LocalRefusal("local_call_invalid", "the path has an invalid URL encoding");
  }
}
